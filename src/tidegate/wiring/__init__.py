"""The only place that knows every adapter and puts them together."""
