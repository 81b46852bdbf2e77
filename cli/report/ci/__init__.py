"""What a continuous-integration run leaves behind: one set of results, rendered for each place that shows them."""
