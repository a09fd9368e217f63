"""What previews and plans are made of: workloads, fields that differ, environments, pins."""

from collections import Counter
from collections.abc import Iterable

from tidegate.kinds.integrations.core.review.effect import Fate, is_image_field
from tidegate.kinds.integrations.core.workloads.difference import ObjectDifference
from tidegate.model.document import Part


class PreviewImages(Part, frozen=True):
    """How many workloads get which image in place of which."""

    before: str
    after: str
    workloads: int


def counted_images(pairs: Iterable[tuple[str, str]]) -> tuple[PreviewImages, ...]:
    """Which images take the place of which, those of most workloads first."""
    counts = Counter(pairs)
    order = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return tuple(PreviewImages(*pair, counts[pair]) for pair in order)


class PreviewEnvironment(Part, frozen=True, kw_only=True):
    """What becomes of one environment."""

    name: str
    # Shards that are to run there, before and after, and how many of them it concerns.
    shards_before: int
    # Null: not known, because of errors.
    shards_after: int | None
    shards_touched: int
    created: int
    changed: int
    deleted: int
    restarts: int
    images: tuple[PreviewImages, ...]


class PreviewWorkload(Part, frozen=True, kw_only=True):
    """What becomes of one workload."""

    fate: str
    environment: str
    cluster: str
    namespace: str
    kind: str
    name: str
    integration: str
    shard: str
    image_before: str
    image_after: str
    restarts: bool
    differences: tuple[ObjectDifference, ...]

    @property
    def where(self) -> str:
        """`deployment/name`."""
        return f"{self.kind.lower()}/{self.name}"

    @property
    def moves_image(self) -> bool:
        """Whether it gets another image than it had."""
        return self.fate == Fate.CHANGED.value and self.image_before != self.image_after

    @property
    def others(self) -> tuple[ObjectDifference, ...]:
        """What differs besides the image."""
        return tuple(each for each in self.differences if not is_image_field(each.field))


class PreviewPin(Part, frozen=True):
    """A shard that keeps its own image, and where that is written."""

    place: str
    shard: str
    image: str
    where: str


class PreviewNote(Part, frozen=True):
    """Something to look at before it is merged: what kind, and what."""

    kind: str
    text: str
