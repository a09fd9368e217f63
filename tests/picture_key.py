"""A public address and a key, for links to pictures in tests."""

from tidegate.net.picture_links import PictureLinks

PUBLIC = "https://tidegate.example/fleet"
LINKS = PictureLinks(PUBLIC, "a key that is long enough")


def path_of(link: str) -> str:
    """What the service is asked for, behind its public address."""
    assert link.startswith(PUBLIC), link
    return link.removeprefix(PUBLIC)
