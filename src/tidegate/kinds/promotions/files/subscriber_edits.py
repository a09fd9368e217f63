"""Writes the versions of promotions into saas files: exactly the targets meant, or nothing.

Every target of a file with the template, name, namespace and channels of a subscriber is meant; a
target in a file of its own is that file. A target whose version is neither the one that was seen
nor the one that is wanted was changed meanwhile, and nothing is written.
"""

from collections.abc import Iterable, Iterator, Sequence

from tidegate.edit.edit import edit
from tidegate.edit.edits import AddField, AddItem, Edit, Edited, Replace
from tidegate.edit.place import YamlPlace
from tidegate.edit.tree import Data, Node
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    Combination,
    SubscriberChange,
    combination,
)
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.saas import PARENT_CONFIG, SAAS_SCHEMA, field, items, text
from tidegate.model.errors import StaleError

_TRUE = ("true", "yes", "on")


def edited_subscribers(files: Files, promotions: Iterable[ChannelPromotion]) -> dict[str, Edited]:
    """The files that promotions change, by path; StaleError where one is not as it was seen."""
    edits: dict[str, list[Edit]] = {}
    for promotion in promotions:
        for change in promotion.changes:
            found = list(_edits(files, promotion.channels, change))
            edits.setdefault(change.file, []).extend(found)
    made: dict[str, Edited] = {}
    for path, wanted in sorted(edits.items()):
        original = files.read(path)
        if original is not None and wanted:
            # One target may be several subscribers, by a selector of namespaces.
            made[path] = edit(original, list({repr(each): each for each in wanted}.values()))
    return made


def _edits(files: Files, channels: Combination, change: SubscriberChange) -> Iterator[Edit]:
    """What one subscriber changes; nothing where it has the version already."""
    if problem := files.problem(change.file):
        raise StaleError(f"{change.file} cannot be read: {problem}")
    found = list(_targets(files, channels, change))
    if not found:
        raise StaleError(f"{change.file}: the target of {change.name} is not there any more")
    for document, path, node in found:
        written = text(node, "ref")
        if written not in (change.old, change.version):
            seen = f"was seen with {change.old[:SHORT]}"
            raise StaleError(f"{change.file}:{node.line}: {seen}, and has {written[:SHORT]} now")
        if written != change.version:
            yield Replace(YamlPlace(f"{path}ref", document=document), change.version)
        yield from _config_edits(node, YamlPlace(f"{path}promotion", document), change.hashes)


def _targets(
    files: Files, channels: Combination, change: SubscriberChange
) -> Iterator[tuple[int, str, Node]]:
    """Every target that is meant: document, path with a dot at its end, node."""
    for document, root in enumerate(files.documents(change.file)):
        if text(root, "$schema") != SAAS_SCHEMA:
            if _is_meant(root, channels, change):
                yield document, "", root
            continue
        for i, template in enumerate(items(root, "resourceTemplates")):
            if text(template, "name") != change.template:
                continue
            for j, target in enumerate(items(template, "targets")):
                if _is_meant(target, channels, change):
                    yield document, f"resourceTemplates[{i}].targets[{j}].", target


def _is_meant(target: Node, channels: Combination, change: SubscriberChange) -> bool:
    promotion = field(target, "promotion")
    subscribed = (each.value for each in items(promotion, "subscribe") if each.kind == "scalar")
    return (
        text(target, "name") == change.target
        and text(field(target, "namespace"), "$ref") == change.namespace
        and text(promotion, "auto").lower() in _TRUE
        and combination(subscribed) == channels
    )


def _config_edits(target: Node, place: YamlPlace, hashes: Sequence[ConfigHash]) -> Iterator[Edit]:
    """The configurations of publishers that a subscriber follows, each under its channel."""
    promotion = field(target, "promotion")
    if field(promotion, "promotion_data") is None:
        if hashes:
            yield AddField(place, "promotion_data", [_entry(each) for each in hashes])
        return
    listed = YamlPlace(f"{place.path}.promotion_data", place.document)
    for wanted in hashes:
        numbered = enumerate(items(promotion, "promotion_data"))
        known = [(at, each) for at, each in numbered if text(each, "channel") == wanted.channel]
        if not known:
            yield AddItem(listed, _entry(wanted))
        for at, each in known[:1]:
            yield from _hash_edits(each, YamlPlace(f"{listed.path}[{at}]", place.document), wanted)


def _hash_edits(channel: Node, place: YamlPlace, wanted: ConfigHash) -> Iterator[Edit]:
    """The hash of the configuration within what is written of a channel."""
    for number, one in enumerate(items(channel, "data")):
        if text(one, "type") == PARENT_CONFIG:
            for name in ("parent_saas", "target_config_hash"):
                value = str(getattr(wanted, name))
                if text(one, name) != value:
                    where = f"{place.path}.data[{number}].{name}"
                    yield Replace(YamlPlace(where, place.document), value)
            return
    yield AddItem(YamlPlace(f"{place.path}.data", place.document), _data(wanted))


def _entry(wanted: ConfigHash) -> Data:
    return {"channel": wanted.channel, "data": [_data(wanted)]}


def _data(wanted: ConfigHash) -> Data:
    return {
        "type": PARENT_CONFIG,
        "parent_saas": wanted.parent_saas,
        "target_config_hash": wanted.target_config_hash,
    }
