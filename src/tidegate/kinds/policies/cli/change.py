"""What a revision of a policy changes, for the person who is asked to approve it."""

from tidegate.kinds.policies.app.revision_diff import RevisionDiff, compare_revisions
from tidegate.kinds.policies.fleet import WORD
from tidegate.model.errors import OutsideError, UserError
from tidegate.settings.settings import Settings

# More places than these are counted: `policies diff` has all of them.
PLACES_MAX = 20


def change_lines(settings: Settings, partition: str, revision: str | None) -> list[str]:
    """Where a revision differs from what most clusters have; or how to see it."""
    name = partition.removeprefix(f"{WORD}/")
    command = f"tidegate policies diff {name}"
    if not settings.hub:
        return [f"what it changes: {command} --hub KUBECONFIG"]
    from tidegate.kinds.policies.cli.policies import on_hub

    try:
        found = on_hub(settings, lambda fleet: compare_revisions(fleet, name, None, revision))
    except (OutsideError, UserError) as error:
        return [f"what it changes cannot be shown: {error}"]
    lines = _places(found)
    hidden = len(found.changes) - PLACES_MAX
    more = [f"  and {hidden} more: {command}"] if hidden > 0 else []
    return [*lines[: 1 + 3 * PLACES_MAX], *more, *_losses(found)]


def diff_lines(found: RevisionDiff) -> list[str]:
    """A comparison in words: the revisions, three lines for each place, and what is lost."""
    return [*_places(found), *_losses(found)]


def _places(found: RevisionDiff) -> list[str]:
    lines = [f"{found.policy}  {found.before or 'nothing'} → {found.after}"]
    for each in found.changes:
        lines += [f"  {each.path}", f"    - {each.before}", f"    + {each.after}"]
    return lines if found.changes else [*lines, "  no difference"]


def _losses(found: RevisionDiff) -> list[str]:
    """Objects that the second revision no longer names."""
    gone = [f"  deletes {e}; going back makes it anew, as another object" for e in found.deleted]
    return gone + [f"  leaves {e}, which the policy no longer looks at" for e in found.left]
