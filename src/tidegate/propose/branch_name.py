"""Names of branches: only small letters, digits and hyphens, so that every forge accepts them."""


def branch_part(text: str) -> str:
    """Any text as a part of the name of a branch."""
    kept = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in text)
    return "-".join(part for part in kept.lower().split("-") if part)
