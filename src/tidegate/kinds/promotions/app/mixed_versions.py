"""Tells whether a change of a bundle mixes versions that must not move together."""

from tidegate.git.port import Contents
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.mixture import mixtures


def mixed_versions(
    old: Contents, new: Contents, base: str, head: str, prefix: str
) -> tuple[str, ...]:
    """What is mixed between two commits, a sentence each; UserError if a promotion is unreadable.

    `prefix`: the folder of the bundle in its repository.
    """
    root = root_in(prefix)
    found = mixtures(Files(old, base, root), Files(new, head, root))
    return tuple(each.text() for each in found)
