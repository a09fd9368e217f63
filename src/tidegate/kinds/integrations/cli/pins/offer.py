"""A pin written to files, or offered as a merge request."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.merge_requests.proposal_options import Proposing
from tidegate.kinds.integrations.app.pins.plan import PinPlan
from tidegate.kinds.integrations.app.pins.planner import files_on, reader
from tidegate.kinds.integrations.app.pins.proposal import proposal_of
from tidegate.kinds.integrations.cli.site import bundle_folder, site_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.propose.offer import Offer
from tidegate.wiring import bundles, repositories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.git.port import Repository
    from tidegate.kinds.integrations.cli.estate import EstateQuery


def carry_out(
    asked: "EstateQuery", plan: PinPlan, proposing: Proposing, verb: str, output: str
) -> None:
    """Write the files here, or offer them, as far as was asked for."""
    folder = bundle_folder(asked.settings)
    if proposing.write:
        # As they are here, whether or not Git has them.
        _write(asked, plan)
        proposing.write = False
        if not proposing.wanted:
            return
    site = site_of(asked.settings)

    def files(_: "Repository", commit: str) -> "Mapping[str, bytes | None]":
        cache = bundles.bundle_cache()
        tree = repositories.open_tree(folder, commit)
        found = files_on(tree, lambda each: bundles.read_live_bundle(each, cache), site, plan.edits)
        return dict(found)

    texts = proposal_of(plan, verb, proposing.reason)
    offer = Offer(
        title=texts.title,
        description=texts.description,
        key=texts.key,
        message=texts.message,
        files=files,
    )
    proposing.carry_out(offer, folder, asked.settings, output)


def _write(asked: "EstateQuery", plan: PinPlan) -> None:
    if asked.settings.revision:
        what = f"--write cannot change revision {asked.settings.revision}"
        raise UserError((Problem("", what, "leave --revision out, or write --commit"),))
    read = reader(asked.tree)
    old = {each.name: read(each.name) for each in plan.edited}
    new = {each.name: each.data for each in plan.edited}
    repositories.write_files(Path(asked.tree.prefix), old, new)
    for name in new:
        click.echo(f"{asked.tree.prefix}{name} edited", err=True)
