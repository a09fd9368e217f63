"""`status`, `get`, `show`, `why`, `when`, `replay`: commands that only read."""
