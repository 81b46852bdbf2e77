"""One module a command; each defines a click command called `command`."""
