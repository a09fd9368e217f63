"""A token in a line: what it may, where, and until when."""

from tidegate.app.access.tokens import TokenRow


def token_line(row: TokenRow) -> str:
    """What a token may."""
    until = f"until {row.expires_at}" if row.expires_at is not None else "until it is revoked"
    return f"token {row.name}: {row.role} of {token_scope(row)}, {until}"


def token_scope(row: TokenRow) -> str:
    """What a token is for."""
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (
            ("kind", row.kinds),
            ("rollouts", row.rollouts),
            ("groups", row.groups),
            ("organisations", row.organisations),
            ("environments", row.environments),
            ("labels", (row.selector,) if row.selector else ()),
        )
        if names
    ]
    return " and ".join(parts) or "everything"
