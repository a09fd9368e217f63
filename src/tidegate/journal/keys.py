"""Keys of tasks: they name the decision a task is from.

The same task of the same decision has the same key, however often it is tried and by any worker.
"""


def task_key(partition: str, place: str, name: str) -> str:
    """The key of a task: `partition#entry/target`."""
    return f"{partition}#{place}/{name}"


def entry_of(partition: str, key: str) -> int:
    """The number of the entry that decided a task; 0: its key is of another form."""
    number = key[len(partition) + 1 :].partition("/")[0].partition(".")[0]
    return int(number) if key.startswith(f"{partition}#") and number.isdecimal() else 0


def target_of(partition: str, key: str) -> str:
    """The target of a task: the end of its key."""
    return key[len(partition) + 1 :].partition("/")[2]
