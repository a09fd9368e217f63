"""What was seen of a target's deployments, folded: which version it has, and for how long.

A run of good deployments of one version is unbroken until the version fails or another one is
deployed; a second good deployment of the same version does not break it. Worked numbers: good at
8:00, good again at 10:00, failed at 11:00, good at 12:00. At 14:00 the version has run for 2 h
without a break, and for 5 h with breaks left out.

Facts may arrive late. One from within an unbroken run that speaks against it breaks it, and the run
counts from the newest fact on; one from before it makes ended runs uncertain, and they no longer
count. So there is never more soak than there was.
"""

import msgspec

from tidegate.model.time import Duration, Instant

# Ended runs are remembered for so many versions; an older one soaks anew.
VERSIONS_MAX = 32


class DeploymentSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A target was deployed with a version, and it went well or did not."""

    target: str
    version: str
    at: Instant
    good: bool
    # What is said of one that did not, and where it can be looked at.
    why: str = ""
    # A hash of its configuration; empty: the source does not say.
    config: str = ""


class PublisherHistory(msgspec.Struct, frozen=True, kw_only=True):
    """All that counts of what was seen of one target."""

    # Of the newest deployment.
    version: str
    good: bool
    seen_at: Instant
    # Since when it is good without a break; None: it is not, or since when is not known.
    since: Instant | None
    # Ended good runs by version, the newest last.
    spent: tuple[tuple[str, Duration], ...] = ()
    # The configuration of it, and when another one was first seen; None: it is the first.
    config: str = ""
    config_at: Instant | None = None
    # A good deployment of another version that a source shows, from before this one.
    earlier: tuple[str, Instant] | None = None


def fold_configured(
    history: PublisherHistory | None, fact: DeploymentSeen, at: Instant
) -> PublisherHistory:
    """The history once a fact was added at a moment, with the configuration that it names.

    The existing store keeps the moment of a deployment when only the configuration changed: so it
    counts from when that was recorded here.
    """
    after = fold(history, fact)
    if history is not None and (fact.at < history.seen_at or not fact.config):
        kept = fact.at < history.seen_at or fact.version == history.version
        config, config_at = (history.config, history.config_at) if kept else ("", None)
    elif history is None or not history.config:
        config, config_at = fact.config, None
    else:
        same = history.config == fact.config
        config, config_at = fact.config, history.config_at if same else at
    return msgspec.structs.replace(after, config=config, config_at=config_at)


def fold(history: PublisherHistory | None, fact: DeploymentSeen) -> PublisherHistory:
    """The history once a fact was added."""
    if history is None:
        since = fact.at if fact.good else None
        return PublisherHistory(version=fact.version, good=fact.good, seen_at=fact.at, since=since)
    if fact.at < history.seen_at:
        return _late(history, fact)
    if fact.version == history.version:
        if fact.at == history.seen_at and not history.good:
            return history  # good and bad at one moment: bad, in whatever order they arrive
        if fact.good and history.good:
            since = fact.at if history.since is None else history.since
            return msgspec.structs.replace(history, seen_at=fact.at, since=since)
    return PublisherHistory(
        version=fact.version,
        good=fact.good,
        seen_at=fact.at,
        since=fact.at if fact.good else None,
        spent=_ended(history, fact.at),
    )


def continuous(history: PublisherHistory, version: str, now: Instant) -> Duration | None:
    """How long a target has run a version without a break; None: since when is not known."""
    if history.version != version or not history.good:
        return Duration(0)
    return None if history.since is None else Duration(max(0, now - history.since))


def accumulated(history: PublisherHistory, version: str, now: Instant) -> Duration:
    """How long a target has run a version in all; a run of unknown length adds nothing."""
    ended = sum(length for each, length in history.spent if each == version)
    return Duration(ended + (continuous(history, version, now) or 0))


def _late(history: PublisherHistory, fact: DeploymentSeen) -> PublisherHistory:
    """A fact from before the newest one: it can cut runs, and how much is left is not known."""
    if history.since is not None and fact.at >= history.since:
        if fact.good and fact.version == history.version:
            return history
        return msgspec.structs.replace(history, since=history.seen_at, spent=())
    earlier = history.earlier
    if fact.good and fact.version != history.version:
        earlier = fact.version, fact.at
    return msgspec.structs.replace(history, spent=(), earlier=earlier)


def _ended(history: PublisherHistory, at: Instant) -> tuple[tuple[str, Duration], ...]:
    """The ended runs, with the one that ends now."""
    if history.since is None:
        return history.spent
    runs = dict(history.spent)
    before = runs.pop(history.version, Duration(0))
    runs[history.version] = Duration(before + at - history.since)
    return tuple(runs.items())[-VERSIONS_MAX:]
