"""A registry of images as Tidegate sees it: which digest a tag has just now."""

from typing import Protocol


class Registry(Protocol):
    """A registry of images. Requests may take long, or fail with OutsideError."""

    def asks(self, image: str) -> bool:
        """Whether an image is one to ask about: others stay as they are written."""
        ...

    async def digest(self, image: str) -> str | None:
        """The digest (`sha256:…`) the tag of an image has now; None: there is no such image."""
        ...

    async def tags(self, image: str) -> tuple[str, ...]:
        """Tags the repository of an image has, as many as are worth offering; none: no such."""
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
