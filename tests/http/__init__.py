"""The application over real connections on the loopback."""
