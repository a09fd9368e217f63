"""What a request, or a brake that is lifted, leads to at once, in words."""

from collections.abc import Mapping

from tidegate.app.consequence import AskConsequence
from tidegate.model.counted import counted


def consequence_words(leads: AskConsequence) -> list[str]:
    """What goes back, what starts, what begins again; nothing, where nothing moves."""
    parts = [
        (leads.returns, f"rolls back {{}} to {leads.returns_to}"),
        (leads.starts, "starts {} at once"),
        (leads.again, "begins again with {}"),
    ]
    return [words.format(_in_groups(some)) for some, words in parts if some]


def _in_groups(some: Mapping[str, int]) -> str:
    return ", ".join(
        counted(number, "target") + (f" in {group}" if group else "")
        for group, number in some.items()
    )
