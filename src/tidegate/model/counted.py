"""A number with its noun."""


def counted(number: int, one: str, many: str = "") -> str:
    """1 target, 2 targets."""
    return f"{number} {one if number == 1 else many or one + 's'}"
