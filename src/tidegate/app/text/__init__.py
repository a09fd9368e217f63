"""Documents as lines for people: the same on the command line and on the page."""
