"""Wraps long lines; continuation lines are indented below the first."""

from textwrap import wrap


def folded(text: str, width: int | None, head: str = "", beneath: str = "") -> list[str]:
    """Lines that fit, the first after its head; None: it may be as long as it is."""
    if width is None:
        return [head + text]
    return wrap(
        text,
        max(width, len(head) + 1, len(beneath) + 1),
        initial_indent=head,
        subsequent_indent=beneath,
        # Names stay whole.
        break_on_hyphens=False,
        break_long_words=False,
    )
