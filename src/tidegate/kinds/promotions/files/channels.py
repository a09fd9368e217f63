"""Reads the publishers, channels and subscribers of a pipeline from the saas files of a bundle."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from tidegate.git.remote_url import same_repository
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.channels.sources import (
    BlockedVersion,
    PipelineReading,
    SaasPublisher,
    SaasSubscriber,
    SloDocument,
    is_version,
)
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.patterns import matches
from tidegate.kinds.promotions.files.promoted_targets import PromotedNode, PromotedTargets
from tidegate.kinds.promotions.files.saas import PARENT_CONFIG, field, items, text
from tidegate.kinds.promotions.files.slos import slo_documents
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import SECOND, Duration

DAY = 24 * 3600 * SECOND
_APP_SCHEMA = "/app-sre/app-1.yml"
# More days than any owner waits; a number above it is a mistake.
_DAYS_MAX = 3660

# The newest commit of a branch of a repository; OutsideError or UserError if it cannot be read.
ReadHead = Callable[[str, str], str]


def read_channels(
    files: Files, pipeline: Pipeline, targets: PromotedTargets, read_head: ReadHead
) -> PipelineReading:
    """All that the saas files of a commit say of a pipeline."""
    reader = _ChannelReader(files, pipeline, targets)
    subscribers = tuple(reader.subscribers())
    wanted = {name for each in subscribers for name in each.channels}
    publishers = tuple(_publishers(targets.nodes, wanted, read_head))
    slos: tuple[SloDocument, ...] = tuple(reader.slos.values())
    return PipelineReading(
        pipeline=pipeline,
        subscribers=tuple(_checked(each, publishers) for each in subscribers),
        publishers=publishers,
        blocked=tuple(_versions(files, subscribers, "blockedVersions")),
        hotfixes=tuple(_versions(files, subscribers, "hotfixVersions")),
        slos=slos,
        unread=tuple(why for _, why in sorted(targets.unread.items())),
    )


class _ChannelReader:
    def __init__(self, files: Files, pipeline: Pipeline, targets: PromotedTargets) -> None:
        self._files, self._pipeline, self._targets = files, pipeline, targets
        self.slos: dict[tuple[str, str, str], SloDocument] = {}

    def subscribers(self) -> Iterator[SaasSubscriber]:
        """Every target that the pipeline moves."""
        seen: set[str] = set()
        for each in self._targets.nodes:
            if not each.flag("auto") or not self._is_meant(each):
                continue
            one = self._subscriber(each)
            if one.name not in seen:
                seen.add(one.name)
                yield one

    def _is_meant(self, each: PromotedNode) -> bool:
        saas = any(matches(pattern, each.place.saas) for pattern in self._pipeline.saas)
        channels = each.texts("subscribe")
        return saas and any(matches(p, name) for name in channels for p in self._pipeline.channels)

    def _subscriber(self, each: PromotedNode) -> SaasSubscriber:
        channels = each.texts("subscribe")
        ref = text(each.node, "ref")
        troubles = list(each.troubles)
        if not is_version(ref):
            troubles.append(f"its ref is {ref or 'missing'}, and not a commit of 40 digits")
        soak = _soak(each, troubles)
        slos = tuple(self._slos(each, troubles))
        troubles += self._unread(channels)
        return SaasSubscriber(
            place=each.place,
            ref=ref,
            channels=channels,
            soak=soak,
            schedule=text(each.promotion, "schedule"),
            slos=slos,
            follows_configs=each.flag("redeployOnPublisherConfigChange"),
            configs=tuple(_configs(each)),
            troubles=tuple(dict.fromkeys(troubles)),
        )

    def _unread(self, channels: tuple[str, ...]) -> Iterator[str]:
        """Files that cannot be read and name one of the channels: they may have a publisher."""
        for path, why in sorted(self._targets.unread.items()):
            raw = self._files.text(path)
            if not raw or any(name in raw for name in channels):
                yield why

    def _slos(self, each: PromotedNode, troubles: list[str]) -> Iterator[str]:
        for reference in items(each.node, "slos"):
            name, found = slo_documents(self._files, text(reference, "$ref"), troubles)
            for one in found:
                self.slos[one.document, one.name, one.url] = one
            if name:
                yield name


def _soak(each: PromotedNode, troubles: list[str]) -> Duration:
    node = field(each.promotion, "soakDays")
    if node is None:
        return Duration(0)
    if node.kind == "scalar" and node.value.isascii() and node.value.isdigit():
        days = int(node.value[:9])
        if days <= _DAYS_MAX:
            return Duration(days * DAY)
    troubles.append(f"soakDays is {node.value or 'no number'}, and not a number of days")
    return Duration(0)


def _configs(each: PromotedNode) -> Iterator[ConfigHash]:
    """The configurations of publishers that are written for a subscriber."""
    for data in items(each.promotion, "promotion_data"):
        for one in items(data, "data"):
            saas, written = text(one, "parent_saas"), text(one, "target_config_hash")
            if text(one, "type") == PARENT_CONFIG and saas and written:
                yield ConfigHash(text(data, "channel"), saas, written)


def _publishers(
    nodes: Iterable[PromotedNode], wanted: set[str], read_head: ReadHead
) -> Iterator[SaasPublisher]:
    seen: set[str] = set()
    for each in nodes:
        channels = tuple(name for name in each.texts("publish") if name in wanted)
        if not channels or each.place.name in seen:
            continue
        seen.add(each.place.name)
        ref = text(each.node, "ref")
        version = None if each.troubles else _version(each.place.url, ref, read_head)
        yield SaasPublisher(place=each.place, ref=ref, channels=channels, version=version)


def _version(url: str, ref: str, read_head: ReadHead) -> str | None:
    if is_version(ref):
        return ref
    try:
        return read_head(url, ref)
    except (OutsideError, UserError):
        return None


def _checked(one: SaasSubscriber, publishers: tuple[SaasPublisher, ...]) -> SaasSubscriber:
    """The subscriber, with a trouble where a publisher deploys another repository."""
    mine = (each for each in publishers if set(each.channels) & set(one.channels))
    others = [each.name for each in mine if not same_repository(each.place.url, one.place.url)]
    if not others:
        return one
    trouble = f"{others[0]} publishes versions of another repository"
    return replace(one, troubles=(*one.troubles, trouble))


def _versions(
    files: Files, subscribers: tuple[SaasSubscriber, ...], name: str
) -> Iterator[BlockedVersion]:
    """Versions that code components of what is subscribed to list under a name."""
    urls = {each.place.url for each in subscribers}
    for path in files.holding(name):
        for root in files.documents(path):
            if text(root, "$schema") != _APP_SCHEMA:
                continue
            for component in items(root, "codeComponents"):
                if not any(same_repository(text(component, "url"), each) for each in urls):
                    continue
                for version in items(component, name):
                    url = text(component, "url")
                    where = text(root, "name") or path
                    yield BlockedVersion(url=url, version=version.value, where=where)
