"""`tidegate check`: the command, its logs, the status on the forge, and the text."""
