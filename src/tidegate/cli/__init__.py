"""What people type: commands, their output and their exit codes."""
