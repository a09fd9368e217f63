"""What is wrong with labels, in plain words: the label, the value, what to write instead.

Owners read these words in service logs, too. Where the predecessor has a text for the same mistake,
that text is kept beside them: an owner who was told in its words is not told again in ours.
"""

from collections.abc import Iterable

import msgspec

from tidegate.kinds.upgrades.core.labels.labels import PREFIX


class LabelError(msgspec.Struct, frozen=True):
    """One error."""

    label: str  # without its prefix; empty: it is about more than one label
    words: str
    # The predecessor's text for the same mistake; empty: it has none.
    known: str = ""

    def text(self) -> str:
        """The mistake on one line: the label, the value, what to write instead."""
        return f"label {PREFIX}{self.label}: {self.words}" if self.label else self.words


class LabelErrors:
    """Collects errors and warnings while labels are read."""

    def __init__(self) -> None:
        self.label_errors: list[LabelError] = []
        self.warnings: list[str] = []

    def wrong(self, label: str, words: str, known: str = "") -> None:
        """Something that cannot be used."""
        posted = f"label {PREFIX}{label}: {known}" if known else ""
        self.label_errors.append(LabelError(label, words, posted))

    def warn(self, label: str, words: str) -> None:
        """Something that is used, though not as it may have been meant."""
        self.warnings.append(f"label {PREFIX}{label}: {words}")

    def items(self, label: str, value: str | None) -> tuple[str, ...]:
        """The items of a list, trimmed; empty ones and repetitions are dropped, with a warning."""
        if value is None or not value.strip():
            return ()
        found = [each.strip() for each in value.split(",")]
        named = tuple(dict.fromkeys(each for each in found if each))
        if "" in found:
            self.warn(label, f'an item of "{value}" is empty and ignored; remove the comma')
        elif len(named) < len(found):
            self.warn(label, f'an item of "{value}" is listed twice and counts once')
        return named


def joined(label_errors: Iterable[LabelError]) -> str:
    """All mistakes of one owner as a service log has them."""
    return "\n".join(f"- {each.text()}" for each in label_errors)


def formerly(label_errors: Iterable[LabelError], before: str = "") -> str:
    """How the predecessor writes the same mistakes, each after a text; empty: it knows not all."""
    texts = [each.known for each in label_errors]
    return "\n".join(f"{before}{each}" for each in texts) if all(texts) else ""
