"""Writes the version of one publisher into its saas file: there and nowhere else, or nothing."""

from tidegate.edit.edit import edit
from tidegate.edit.edits import Replace
from tidegate.edit.place import YamlPlace
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.promoted_targets import PromotedTargets
from tidegate.kinds.promotions.files.saas import text
from tidegate.model.errors import StaleError


def edited_publisher(files: Files, target: str, old: str, new: str) -> dict[str, bytes]:
    """The file of a publisher with another ref; nothing where it is so already.

    StaleError where the target is gone, or its ref is neither the one that was seen nor the new.
    """
    named = (each for each in PromotedTargets(files).nodes if each.place.name == target)
    found = next(named, None)
    if found is None:
        raise StaleError(f"{target} is not in the bundle any more")
    place, written = found.place, text(found.node, "ref")
    if written not in (old, new):
        seen = f"{target} was seen with {old[:SHORT]}"
        raise StaleError(f"{place.file}:{found.node.line}: {seen}, and has {written[:SHORT]} now")
    original = files.read(place.file)
    if written == new or original is None:
        return {}
    ref = YamlPlace(f"{place.path}.ref" if place.path else "ref", document=place.document)
    return {f"{files.root}{place.file}": edit(original, [Replace(ref, new)]).data}
