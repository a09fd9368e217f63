"""`tidegate promote` at a service: a version is requested, and its worker offers it."""

import click

from tidegate.app.change_requests import ChangeRequestReport
from tidegate.app.text.request_text import replaced_lines, requested_line
from tidegate.app.text.worker_text import start_words
from tidegate.cli.answers.place import AnswerPlace, service_client
from tidegate.cli.live import confirmed
from tidegate.cli.main import FAILURE
from tidegate.cli.merge_requests.proposal_options import Proposing
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.explain.table import layout
from tidegate.kinds.promotions.app.lanes import PromotionLaneList
from tidegate.kinds.promotions.app.version_request import WantedVersion
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

_HEAD = ("ENVIRONMENT", "NOW", "NEXT", "STATE", "WHY")


def request_version(
    place: AnswerPlace, name: str, wanted: WantedVersion, proposing: Proposing, output: str
) -> None:
    """Show what every gate says of a version, and request it.

    Exits 1 if nothing was requested, and an environment would have to wait.
    """
    client = service_client(place)
    assert client is not None, "the command asks a service"
    name = name or _only_promotion(client.get("/promotions", {}, PromotionLaneList))
    path = f"/promote/{KIND}/{name.removeprefix(f'{KIND}/')}"
    body = {
        "to": wanted.to,
        "ref": wanted.ref,
        "allowBackward": wanted.backward,
        # A dry run records nothing, and needs no reason.
        "reason": wanted.reason if proposing.opens else wanted.reason or "-",
    }
    seen = client.dry_run(path, body, ChangeRequestReport)
    found = seen.document
    if output == "table":
        _show(found)
    if not proposing.opens:
        if output != "table":
            emit(found, output)
        click.echo("nothing was requested: --open-mr requests it", err=True)
        if not all(each.starts or each.state == "Done" for each in found.targets):
            raise click.exceptions.Exit(FAILURE)
        return
    ready = sum(each.starts for each in found.targets)
    confirmed(f"requests it of {found.rollout}", ready, proposing.yes)
    done = client.act(path, body, seen.tag, ChangeRequestReport)
    if output != "table":
        emit(done, output)
    for each in done.requests:
        click.echo(requested_line(done, each), err=True)
    tell_unattended([done.worker])


def _only_promotion(found: PromotionLaneList) -> str:
    """The promotion of a service, if there is one."""
    names = [each.promotion for each in found.items if each.partition.partition("/")[0] == KIND]
    if len(names) == 1:
        return names[0]
    what = "several are declared" if names else "the service has none"
    hint = nearest_or_all("", names, "none; its worker reads them with `--kind promotions`")
    raise UserError((Problem("--promotion", what, f"name one; {hint}"),))


def _show(found: ChangeRequestReport) -> None:
    starts = start_words(found.worker)
    rows = [
        (each.name, each.revision or "-", each.next or "-", each.state,
         starts if each.starts else each.why)
        for each in found.targets
    ]  # fmt: skip
    for line in layout(_HEAD, rows, terminal_width()):
        click.echo(line)
    for line in (*replaced_lines(found), *found.warnings, *found.notes):
        click.echo(line, err=True)
