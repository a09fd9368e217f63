"""Promotions that are wanted, merge requests as they were seen, and what is done about them.

A *channel promotion* is what all subscribers of one combination of channels get; a merge request
carries one or several. Its *content* is a hash of everything it writes: another version is another
content of the same channels.
"""

import enum
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.model.verdict import Verdict

# Promotions in one merge request, unless a pipeline declares another limit.
LIMIT = 5
# Labels by which people, and the merge queue of an app-interface, hold a merge request.
HOLD_LABELS = frozenset(
    (
        "bot/hold",
        "do-not-merge/hold",
        "do-not-merge/pending-review",
        "changes-requested",
        "blocked/bot-access",
    )
)
# Enough that two contents do not share one by accident.
_CONTENT_DIGITS = 32
_KEY_DIGITS = 12

# A combination of channels: sorted, each once.
Combination = tuple[str, ...]


class SubscriberChange(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What one subscriber gets, and where it is written."""

    # The saas file or target file, by its path from the root of the bundle.
    file: str
    template: str
    # The reference to its namespace, as it is written.
    namespace: str
    # The subscriber, as its pipeline calls it, and the name of its target; empty: it has none.
    name: str
    target: str = ""
    # What is written now, and what is to be written.
    old: str = ""
    version: str = ""
    # Configurations of publishers that it follows; none for most.
    hashes: tuple[ConfigHash, ...] = ()
    # The repository that its versions are commits of, for people; empty: not known.
    repository: str = ""


class ChannelPromotion(msgspec.Struct, frozen=True):
    """What the subscribers of one combination of channels get. Make one with `promotion_of`."""

    channels: Combination
    changes: tuple[SubscriberChange, ...]
    content: str


class HeldPromotion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A promotion as a merge request names it."""

    channels: Combination
    content: str


class ChecksResult(enum.Enum):
    """What the checks of a merge request's newest commit say together."""

    NONE = "none"  # no check has said anything
    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


class RequestOrigin(enum.Enum):
    """Which program opened a merge request."""

    TIDEGATE = "tidegate"
    EXISTING = "existing"  # the existing auto-promotions manager


class SeenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An open merge request with promotions of a pipeline."""

    number: int
    url: str
    branch: str
    holds: tuple[HeldPromotion, ...]
    # Whether other promotions may join; one that came of a failed batch takes in none.
    batchable: bool = True
    check: ChecksResult = ChecksResult.NONE
    conflict: bool = False
    # The newest commit on its branch that is not ours, in words; empty: there is none.
    foreign: str = ""
    labels: frozenset[str] = frozenset()
    # Why its data cannot be read; empty: it was read.
    unreadable: str = ""
    origin: RequestOrigin = RequestOrigin.TIDEGATE

    def carries(self, channels: Combination) -> bool:
        """Whether it holds a promotion of these channels, of whatever content.

        The existing manager writes down the channels of a whole batch: any of them may be meant.
        """
        if self.origin is RequestOrigin.EXISTING:
            return any(set(channels) <= set(each.channels) for each in self.holds)
        return any(channels == each.channels for each in self.holds)


class CloseCause(enum.Enum):
    """Why a merge request is closed; written into its data before it is."""

    FAILED = "failed"  # its check failed: halves of it are offered instead
    OUTDATED = "outdated"
    DOUBLED = "doubled"  # another request holds one of its promotions
    UNREADABLE = "unreadable"
    ADOPTED = "adopted"  # of the existing manager, and offered anew


class FailedBatch(msgspec.Struct, frozen=True):
    """Contents that failed a check together, and the closed request that shows it."""

    contents: frozenset[str]
    number: int


class DeclinedRequest(msgspec.Struct, frozen=True):
    """Contents that a person closed a request of, without a merge."""

    contents: frozenset[str]
    number: int
    # Empty: the forge does not say.
    by: str = ""


class RequestsWorld(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the merge requests of a pipeline depend on."""

    pipeline: str
    wanted: tuple[ChannelPromotion, ...]
    # Those that are open.
    requests: tuple[SeenRequest, ...] = ()
    # What closed requests show (`record.py`).
    failed: tuple[FailedBatch, ...] = ()
    declined: tuple[DeclinedRequest, ...] = ()
    limit: int = LIMIT
    # Whether requests of the existing manager are taken over; else they are left alone.
    adopt: bool = False
    # Labels that every request has, as declared.
    labels: tuple[str, ...] = ()
    # A request with one of these is not extended: a person wants it to stay as it is.
    hold_labels: frozenset[str] = HOLD_LABELS


class RequestVerb(enum.Enum):
    """What is done about a merge request; in the order in which it is done."""

    CLOSE = "close"
    UPDATE = "update"
    OPEN = "open"
    LEAVE = "leave"


class RequestAct(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do, or to leave, and why."""

    verb: RequestVerb
    verdict: Verdict
    # What the request holds afterwards; of one that is closed or left: what it holds.
    holds: tuple[HeldPromotion, ...] = ()
    # None: it is to be opened.
    number: int | None = None
    # Of a request to be opened: what its branch is named by.
    key: str = ""
    batchable: bool = True
    # Of a request to be closed.
    cause: CloseCause | None = None


class RequestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about every request, and what is said of every wanted promotion."""

    acts: tuple[RequestAct, ...]
    said: Mapping[Combination, Verdict]

    def due(self) -> tuple[RequestAct, ...]:
        """The acts that change something."""
        return tuple(each for each in self.acts if each.verb is not RequestVerb.LEAVE)


def combination(channels: Iterable[str]) -> Combination:
    """Channels in whatever order they are written, as one value."""
    return tuple(sorted(set(channels)))


def promotion_of(channels: Iterable[str], changes: Iterable[SubscriberChange]) -> ChannelPromotion:
    """A promotion with the hash of everything that it writes."""
    ordered = tuple(sorted(changes))
    digest = sha256()
    for each in ordered:
        hashes = [msgspec.structs.astuple(one) for one in sorted(each.hashes)]
        parts = (each.file, each.template, each.namespace, each.name, each.version, hashes)
        digest.update(msgspec.json.encode(parts) + b"\n")
    combined = combination(channels)
    digest.update(msgspec.json.encode(combined))
    return ChannelPromotion(combined, ordered, digest.hexdigest()[:_CONTENT_DIGITS])


def request_key(contents: Iterable[str]) -> str:
    """The key of a request with these contents: the same again for the same, after any crash."""
    return sha256("\n".join(sorted(contents)).encode()).hexdigest()[:_KEY_DIGITS]
