"""Configurations of publishers that a subscriber follows: `redeployOnPublisherConfigChange`.

A publisher may be deployed anew with the same version and another configuration. A subscriber that
follows it is promoted then, too: what is written for it names the configuration of one publisher of
each channel, the first by name, and the existing deployer refuses it once that publisher has yet
another one. So a configuration that is not known is waited for, and soak counts since the last
change of version or configuration, whichever was later.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from tidegate.kinds.promotions.core.channels.history import PublisherHistory
from tidegate.kinds.promotions.core.channels.model import ChannelWorld, SubscriberTarget
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.model.verdict import Verdict, verdict


def desired_configs(world: ChannelWorld, subscriber: SubscriberTarget) -> tuple[ConfigHash, ...]:
    """What is to be written for it; a channel whose publishers are not known keeps what it has."""
    if not subscriber.follows_configs:
        return ()
    written = {each.channel: each for each in subscriber.configs}
    found = ((name, _of_channel(world, name) or written.get(name)) for name in subscriber.channels)
    return tuple(each for _, each in sorted(found) if each is not None)


def has_configs(world: ChannelWorld, subscriber: SubscriberTarget) -> bool:
    """Whether all that it follows is written for it already; more than that does no harm."""
    return set(desired_configs(world, subscriber)) <= set(subscriber.configs)


def config_verdicts(world: ChannelWorld, subscriber: SubscriberTarget) -> Iterable[Verdict]:
    """Whether the configurations that it follows are known; nothing where it follows none."""
    if not subscriber.follows_configs:
        return
    channels = sorted(set(subscriber.channels))
    unknown = tuple(name for name in channels if _of_channel(world, name) is None)
    if unknown:
        yield verdict(ChannelReason.ConfigUnknown, unknown)
        return
    new = set(desired_configs(world, subscriber)) - set(subscriber.configs)
    changed = tuple(sorted({each.channel for each in new}))
    if changed:
        yield verdict(ChannelReason.ConfigChanged, changed)
    else:
        yield verdict(ChannelReason.ConfigCurrent)


def of_config(histories: Mapping[str, PublisherHistory]) -> dict[str, PublisherHistory]:
    """Histories for a subscriber that follows configurations: another one is a new beginning."""
    return {name: _since_config(each) for name, each in histories.items()}


def _since_config(history: PublisherHistory) -> PublisherHistory:
    if history.config_at is None:
        return history
    since = None if history.since is None else max(history.since, history.config_at)
    return replace(history, since=since, spent=())


def _of_channel(world: ChannelWorld, channel: str) -> ConfigHash | None:
    """The configuration of its first publisher that is good and says so."""
    for name in sorted(world.channels.get(channel, ())):
        publisher, history = world.publishers.get(name), world.histories.get(name)
        if publisher is None or history is None or not history.good or not history.config:
            continue
        if history.version == publisher.version:
            return ConfigHash(channel, publisher.saas, history.config)
    return None
