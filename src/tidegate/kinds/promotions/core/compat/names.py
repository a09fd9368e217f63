"""Ids, titles and content hashes of the existing manager, byte for byte.

State keys and merge requests are found again by these, so a space more is another promotion.

Worked example: target `t` of template `rt-a` in `saas-a`, on cluster `c1` in namespace `ns1`, has
the uid `3568f7bf6ad05b18d36c74c077e9e413a4e311f3`.
"""

from collections.abc import Iterable
from hashlib import blake2s, sha256

import msgspec

_UID_BYTES = 20
_CONTENT_HASH_LENGTH = 32
_CONFIG_HASH_LENGTH = 16
# The number in a title has at most eight digits; it is not padded.
_TITLE_IDS = 10**8
# Every line of the hashed text starts on a line of its own, indented so far.
_INDENT = "\n" + 12 * " "


class ConfigHash(msgspec.Struct, frozen=True, order=True):
    """The configuration that a publisher was deployed with, in the order it is sorted by."""

    channel: str
    parent_saas: str
    target_config_hash: str


class PromotedTarget(msgspec.Struct, frozen=True):
    """What a promotion writes to one subscriber, as far as its content hash sees it."""

    file: str
    template: str
    namespace: str
    ref: str
    hashes: tuple[ConfigHash, ...] = ()


def target_uid(
    saas: str, template: str, target: str | None, cluster: str, namespace: str, *, fips: bool
) -> str:
    """The id of a saas target in state keys; a target without a name is `default`."""
    text = f"{saas}:{template}:{target or 'default'}:{cluster}:{namespace}".encode()
    if fips:
        return sha256(text).digest()[:_UID_BYTES].hex()
    return blake2s(text, digest_size=_UID_BYTES).hexdigest()


def request_title(channels: str, batch_size: int) -> str:
    """The title of a merge request; `channels` is the text of its description."""
    number = int(sha256(channels.encode()).hexdigest(), 16) % _TITLE_IDS
    return f"[SAPM] auto-promotion ID {number} - batch size: {batch_size}"


def content_hash(targets: Iterable[PromotedTarget]) -> str:
    """One hash of everything a promotion writes, whatever the order of its subscribers.

    The template sorts, and is not in the text. Subscribers of the same file, template and namespace
    stay in the order they are given in, as Python's sort leaves them.
    """
    text = ""
    for each in sorted(targets, key=lambda one: (one.file, one.template, one.namespace)):
        hashes = [(h.channel, h.parent_saas, h.target_config_hash) for h in sorted(each.hashes)]
        for line in (
            f"target_file_path: {each.file}",
            f"namespace_file_path: {each.namespace}",
            f"desired_ref: {each.ref}",
            f"desired_hashes: {hashes}",
            "",
        ):
            text += _INDENT + line
    return sha256(text.encode()).hexdigest()[:_CONTENT_HASH_LENGTH]


def config_hash(sorted_json: str) -> str:
    """The hash of a target's configuration, given as Python's JSON with sorted keys."""
    return sha256(sorted_json.encode()).hexdigest()[:_CONFIG_HASH_LENGTH]
