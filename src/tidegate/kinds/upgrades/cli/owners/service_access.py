"""One organisation at a service: what it declares, and requests of other labels.

The service answers from the last recorded survey; what is requested of it a worker writes, with the
rights of the service, if every gate is open.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from tidegate.app.documents import RolloutList
from tidegate.app.text.request_text import replaced_lines, requested_line
from tidegate.cli.output import emit
from tidegate.cli.prompt import asked_about
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.kinds.upgrades.app.owners.label_requests import LabelRequestReport
from tidegate.kinds.upgrades.cli.text.label_changes import diff_lines, show_warnings
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.model.counted import counted
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

if TYPE_CHECKING:
    from tidegate.api.client.service import ServiceClient
    from tidegate.kinds.upgrades.cli.owners.label_change import WriteOptions

D = TypeVar("D", bound=Document)


class OrganisationService:
    """One organisation, as a service has it."""

    def __init__(self, client: "ServiceClient", org: str) -> None:
        """`org`: its id, with or without its environment; empty: the only one that is seen."""
        self._client = client
        found = client.get("/rollouts", {"kind": PARTITION}, RolloutList)
        self.partition = _called([each.id for each in found.items], org)

    def get(self, what: str, kind: type[D], **query: object) -> D:
        """What the organisation declares."""
        return self._client.get(f"/{what}/{self.partition}", query, kind)

    def request(self, verb: str, body: Mapping[str, object], options: "WriteOptions") -> None:
        """Show the labels that change, ask, and request them."""
        path = f"/{verb}/{self.partition}"
        # A dry run records nothing, and needs no reason.
        reason = options.reason or ("-" if options.dry_run else "")
        seen = self._client.dry_run(path, {**body, "reason": reason}, LabelRequestReport)
        report = seen.document
        show_warnings(report.warnings, report.notes)
        if options.output == "table":
            for line in diff_lines(report.changes):
                click.echo(line)
        for line in replaced_lines(report):
            click.echo(line, err=True)
        if report.changes and not options.dry_run:
            question = f"Request this? It reaches {counted(report.reach, 'cluster')}."
            asked_about(question, report.reach, options.yes)
            report = self._client.act(
                path, {**body, "reason": reason}, seen.tag, LabelRequestReport
            )
        if options.output != "table":
            emit(report, options.output)
        _tell(report, options)


def _called(known: list[str], org: str) -> str:
    """The organisation of a name; UserError lists those that there are."""
    found = [each for each in known if not org or each == org or each.endswith(f"/{org}")]
    if len(found) == 1:
        return found[0]
    some = [each.removeprefix(f"{PARTITION}/") for each in found or known]
    if not org:
        what = "several are seen" if found else "the service has none that you see"
    else:
        what = f'"{org}" is in several environments' if found else f'no organisation "{org}"'
    raise UserError((Problem("--org", what, nearest_or_all(org, some, "none")),))


def _tell(report: LabelRequestReport, options: "WriteOptions") -> None:
    if not report.changes:
        click.echo("nothing to change: the labels have these values already", err=True)
    elif options.dry_run:
        click.echo("dry run: nothing was written", err=True)
    else:
        for each in report.requests:
            click.echo(requested_line(report, each), err=True)
            if each.why:
                click.echo(f"{each.id} waits: {each.why}", err=True)
        tell_unattended([report.worker])
