"""Options and steps shared by commands that propose a change or comment on one."""
