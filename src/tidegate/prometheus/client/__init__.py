"""A Prometheus, asked over HTTP."""
