"""Subscribers that get a version, grouped into promotions: one for each combination of channels."""

from collections.abc import Iterable, Mapping

from tidegate.kinds.promotions.core.channels.sources import SaasSubscriber
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    Combination,
    SubscriberChange,
    combination,
    promotion_of,
)


def wanted_promotions(
    subscribers: Iterable[SaasSubscriber],
    versions: Mapping[str, str],
    configs: Mapping[str, tuple[ConfigHash, ...]] = {},
) -> tuple[ChannelPromotion, ...]:
    """The promotions of the subscribers that get a version; `versions` is by their names.

    `configs` has the configurations that those are to have which follow some.

    Two subscribers that are written as one target are one change.
    """
    groups: dict[Combination, dict[SubscriberChange, None]] = {}
    for each in subscribers:
        version = versions.get(each.name)
        hashes = configs.get(each.name, ())
        if version is not None and (version != each.ref or not set(hashes) <= set(each.configs)):
            changes = groups.setdefault(combination(each.channels), {})
            changes[_change(each, version, hashes)] = None
    return tuple(promotion_of(channels, groups[channels]) for channels in sorted(groups))


def _change(
    subscriber: SaasSubscriber, version: str, hashes: tuple[ConfigHash, ...]
) -> SubscriberChange:
    place = subscriber.place
    return SubscriberChange(
        file=place.file,
        template=place.template,
        namespace=place.namespace_ref,
        name=subscriber.name,
        target=place.target,
        old=subscriber.ref,
        version=version,
        hashes=hashes,
        repository=place.url,
    )
