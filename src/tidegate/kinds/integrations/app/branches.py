"""The commits of branches that default images follow: read, because they are not written."""

from collections.abc import Callable

import msgspec

from tidegate.bundle.section import Bundle
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.model import BranchHead, ImageBranch
from tidegate.model.errors import OutsideError, UserError

# The newest commit of a branch, by the address of its repository and its name.
ReadHead = Callable[[str, str], str]


def followed_branches(bundle: Bundle) -> list[ImageBranch]:
    """The branches that decide what shards run which have no image written anywhere."""
    found = {
        managed.namespace.image.follows.key: managed.namespace.image.follows
        for integration in INTEGRATIONS.of(bundle).integrations
        for managed in integration.managed
        if managed.namespace.image.follows is not None and not managed.spec.get("imageRef")
    }
    return [found[key] for key in sorted(found)]


def with_heads(bundle: Bundle, read: ReadHead) -> Bundle:
    """A bundle with the commits of the branches that it follows, or why they are not known."""
    heads: dict[str, BranchHead] = {}
    for each in followed_branches(bundle):
        try:
            heads[each.key] = BranchHead(commit=read(each.url, each.branch))
        except (OutsideError, UserError) as error:
            heads[each.key] = BranchHead(why=str(error))
    declared = INTEGRATIONS.of(bundle)
    if heads == declared.heads:
        return bundle
    parts = bundle.parts | {INTEGRATIONS.name: msgspec.structs.replace(declared, heads=heads)}
    return msgspec.structs.replace(bundle, parts=parts)
