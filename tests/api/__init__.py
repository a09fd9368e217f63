"""The API of `serve`, in process: routes, roles, writes."""
