"""Reports as text: pure functions from results to lines. Trace content is made printable by the painter."""
