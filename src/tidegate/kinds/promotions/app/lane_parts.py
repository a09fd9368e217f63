"""The parts of a list of lanes; names of fields are public."""

from tidegate.model.document import Part


class LaneOffer(Part, frozen=True, kw_only=True):
    """A version that was offered to an environment in a merge request, or on a branch."""

    version: str
    branch: str
    url: str | None
    # open, merged, closed, …
    state: str
    # Empty: not known.
    offered_at: str
    changed_at: str | None
    by: str | None


class LaneCheck(Part, frozen=True, kw_only=True):
    """Whether what runs is what the files promise."""

    version: str
    matches: bool
    differing: tuple[str, ...]


class LaneEnvironment(Part, frozen=True, kw_only=True):
    """One environment of a promotion."""

    # Of a pipeline: a publisher or a subscriber.
    name: str
    # Waiting, Updating, Done, Failed, Ignored.
    state: str
    # Versions as they are written, and the branch that is followed instead.
    versions: tuple[str, ...]
    follows: str | None
    # How many commits the newest version is ahead; null: not known.
    behind: int | None
    # What it waits for, or that it is offered next, in words; null: there is nothing to do.
    why: str | None
    # Places that were not found, and files that cannot be read.
    troubles: tuple[str, ...]
    offer: LaneOffer | None
    running: LaneCheck | None
    # Of a pipeline: the environment of the target; null: it is the name itself, or not known.
    environment: str | None = None
    # The version that a person requested for it, in the place of the newest; null: none.
    requested: str | None = None
    # Whether it shows versions to others, and is not promoted itself.
    publishes: bool = False
    # Since when it has its version; null: not known here.
    since: str | None = None
    # What every shut gate says.
    missing: tuple[str, ...] = ()


class PromotionLane(Part, frozen=True, kw_only=True):
    """One promotion: its environments in order; or one pipeline: its targets by environment."""

    promotion: str
    partition: str
    # The newest version; empty: none was read yet.
    version: str
    summary: str
    # When it was read last; null: never.
    read_at: str | None
    environments: tuple[LaneEnvironment, ...]
