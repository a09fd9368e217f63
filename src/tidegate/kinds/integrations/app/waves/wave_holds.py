"""Keeps shards where they are while their default moves: the first step of waves through Git.

Of places whose images move through Git, every shard that a change of files would move gets an
override with the image it had, in the same change. So the change itself restarts none of them, and
their rollout takes the overrides away in its own order.
"""

from collections.abc import Mapping

from tidegate.bundle.reader import ReadBundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.app.pins.plan import PinnedImage
from tidegate.kinds.integrations.app.pins.planner import edits_on
from tidegate.kinds.integrations.core.review.aims import At
from tidegate.kinds.integrations.core.waves.holds import HOLD_NOTE
from tidegate.kinds.integrations.core.waves.rules import MoveVia
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site


def held_back(
    tree: Tree, read: ReadBundle, site: Site, files: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The files that hold shards back, by path in the repository; those of the change included.

    `files` is the change, on the tree.
    """
    before = estate_in(read(tree), site)
    changed = EditedTree(tree, files)
    bundle = read(changed)
    after = estate_in(bundle, site)
    edits: dict[At, PinnedImage | None] = {
        at: PinnedImage(image=image, note=HOLD_NOTE.text, as_it_is=True)
        for at, image in _moved(before, after).items()
    }
    made = edits_on(changed, bundle, after, edits) if edits else []
    return {**files, **{tree.prefix + each.name: each.data for each in made}}


def _moved(before: Estate, after: Estate) -> dict[At, str]:
    """The units that a change would move through Git at once, and the image that each had."""
    found: dict[At, str] = {}
    for place in after.places:
        rules = place.managed.rollout
        old = before.place(place.partition)
        if rules is None or rules.via is not MoveVia.GIT or old is None:
            continue
        for unit in place.units:
            was = old.unit(unit.name)
            if was is not None and not unit.pinned_by and old.wanted(was) != place.wanted(unit):
                found[place.name, unit.name] = old.wanted(was)
    return found
