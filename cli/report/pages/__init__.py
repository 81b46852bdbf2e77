"""Pages of their own about a run, a claim or a job: what each shows, as values for the templates."""
