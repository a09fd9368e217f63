"""A pin offered to others: what its merge request says, and the files on whatever it is based."""

import functools
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate import wiring
from tidegate.cli.proposal_options import Proposing
from tidegate.edit.edited_tree import EditedTree
from tidegate.explain.markup import code
from tidegate.kinds.integrations.app.estate_source import estate_in
from tidegate.kinds.integrations.bundle.reading import read_bundle
from tidegate.kinds.integrations.cli.pin_plan import Doing, PinPlan
from tidegate.kinds.integrations.cli.pin_planning import edits_on, only, reader
from tidegate.kinds.integrations.cli.site import bundle_folder, site_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.propose.branch_name import branch_part
from tidegate.propose.offer import Offer
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.git.port import Repository
    from tidegate.kinds.integrations.cli.estate import Asked

# So many shards are named in a title, and so many lines in a description.
NAMED_MAX, LINES_MAX = 3, 60


def carry_out(asked: "Asked", plan: PinPlan, proposing: Proposing, verb: str, output: str) -> None:
    """Write the files here, or offer them, as far as was asked for."""
    folder = bundle_folder(asked.settings)
    if proposing.write:
        # As they are here, whether or not Git has them.
        _write(asked, plan)
        proposing.write = False
        if not proposing.wanted:
            return
    title = _title(plan, verb)
    offer = Offer(
        title=title,
        description="\n".join(_description(plan, proposing.reason)) + "\n",
        key=_key(plan, verb),
        message="\n".join((title, "", plan.sentence, "", proposing.reason)).strip() + "\n",
        files=functools.partial(_files, folder, asked.settings, plan.doing),
    )
    proposing.carry_out(offer, folder, asked.settings, output)


def _write(asked: "Asked", plan: PinPlan) -> None:
    if asked.settings.revision:
        what = f"--write cannot change revision {asked.settings.revision}"
        raise UserError((Problem("", what, "leave --revision out, or write --commit"),))
    read = reader(asked.tree)
    old = {each.name: read(each.name) for each in plan.edited}
    new = {each.name: each.data for each in plan.edited}
    wiring.write_files(Path(asked.tree.prefix), old, new)
    for name in new:
        click.echo(f"{asked.tree.prefix}{name} edited", err=True)


def _files(
    folder: Path,
    settings: Settings,
    doing: Doing,
    repository: "Repository",  # noqa: ARG001 (the tree knows where in it the bundle is)
    commit: str,
) -> Mapping[str, bytes | None]:
    """What files of a commit become: whatever was merged meanwhile stays."""
    tree, site, cache = wiring.open_tree(folder, commit), site_of(settings), wiring.bundle_cache()
    bundle = read_bundle(tree, cache)
    estate = estate_in(bundle, site)
    edited = edits_on(tree, bundle, estate, doing)
    files = {tree.prefix + each.name: each.data for each in edited}
    only(estate, estate_in(read_bundle(EditedTree(tree, files), cache), site), doing)
    return files


def _title(plan: PinPlan, verb: str) -> str:
    names = [_short(plan, wish.aim.unit.name) for wish in plan.wishes]
    names = list(dict.fromkeys(names))
    some = ", ".join(names[:NAMED_MAX])
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{verb} {plan.integration} {some}{more} in {', '.join(_environments(plan))}"


def _short(plan: PinPlan, name: str) -> str:
    return name.removeprefix(f"{plan.integration}/")


def _environments(plan: PinPlan) -> list[str]:
    return sorted({wish.aim.place.managed.namespace.environment for wish in plan.wishes})


def _key(plan: PinPlan, verb: str) -> str:
    """The same shards are the same proposal, however the rest changed."""
    names = "\0".join(sorted("\0".join(wish.aim.at) for wish in plan.wishes))
    few = blake2b(names.encode(), digest_size=4).hexdigest()
    return branch_part(f"{verb}-{plan.integration}-{'-'.join(_environments(plan))}-{few}")


def _description(plan: PinPlan, reason: str) -> Iterator[str]:
    yield f"{plan.sentence}."
    if plan.rest:
        yield f"{plan.rest}."
    if reason:
        yield ""
        yield code(reason)
    yield ""
    yield "| shard | environment | now | then |"
    yield "|---|---|---|---|"
    for wish in plan.wishes[:LINES_MAX]:
        where = wish.aim.place.managed.namespace.environment
        yield f"| {code(wish.aim.unit.name)} | {code(where)} | `{wish.now}` | `{wish.then}` |"
    if len(plan.wishes) > LINES_MAX:
        yield ""
        yield f"and {len(plan.wishes) - LINES_MAX} more"
