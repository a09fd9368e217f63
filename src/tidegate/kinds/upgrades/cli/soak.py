"""`tidegate soak`: what versions have soaked, imported from elsewhere and exported."""

from pathlib import Path
from typing import Any

import click
import msgspec

from tidegate.cli.answers.place import (
    AnswerPlace,
    answers_option,
    own_journal_option,
    service_client,
)
from tidegate.cli.live import confirmed, create_option, opened, whoami
from tidegate.cli.output import emit_file
from tidegate.cli.prompt import ALWAYS, FREE
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.documents.files import bounded_bytes
from tidegate.kinds.upgrades.app.soak import (
    ImportedSoak,
    SoakExport,
    check_soak,
    export_soak,
    import_soak,
    owner_of,
    plan_soak_import,
    recorded_upgrades,
    soak_text,
)
from tidegate.model.errors import UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.wiring import clock

# In folders the soak of add-ons is apart: a name cannot be a file and a folder at once.
_ADDONS = "addons"


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "export": (
            "tidegate.kinds.upgrades.cli.soak:export",
            "Write soak data as documents",
        ),
        "import": ("tidegate.kinds.upgrades.cli.soak:bring", "Import soak data from elsewhere"),
    },
    examples="""
    tidegate upgrades soak export > soak.json                     all, as `why --soak` reads it
    tidegate upgrades soak export --to state/                 a file an organisation, as kept before
    tidegate upgrades soak import state/ --reason "moving over"   take over what was kept before
    """,
)
def soak() -> None:
    """Import and export the soak data of versions."""


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades soak export
    tidegate upgrades soak export prod/o-payments --to state/
    """,
)
@click.argument("orgs", nargs=-1, metavar="[ENV/ORG]...")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False),
    help="The folder to write to, a file for each organisation.",
)
@answers_option
def export(orgs: tuple[str, ...], folder: str | None, place: AnswerPlace) -> None:
    """Write soak data, in the format of AUS.

    AUS and Tidegate read it, so that no soak is lost in either direction. Soak data of add-ons is
    under ENV/ORG/ADDON; in a folder below `addons`.
    """
    found = _exported(orgs, place)
    if folder is None:
        emit_file(found.documents, "json")
        return
    for each in found.items:
        key = each.key
        file = Path(folder) / (f"{_ADDONS}/{key}" if owner_of(key)[1] else key)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(found.documents[key], order="sorted"))
        file.write_bytes(text + b"\n")
        click.echo(f"{file}: {soak_text(each)}", err=True)


def _exported(orgs: tuple[str, ...], place: AnswerPlace) -> SoakExport:
    client = service_client(place)
    if client is not None:
        return client.get("/soak", {"org": orgs}, SoakExport)
    with opened(place.database) as store:
        return export_soak(recorded_upgrades(store), orgs, clock().now())


@click.command(
    "import",
    cls=Act,
    examples="""
    tidegate upgrades soak import soak.json --reason "moving over"
    tidegate upgrades soak import state/ --reason "moving over"       files as state/prod/o-payments
    tidegate upgrades soak import history.json --org prod/o-payments --reason …
    """,
)
@click.argument("source", type=click.Path(allow_dash=True))
@click.option(
    "--org", metavar="ENV/ORG", help="The organisation of the data, if the file does not name it."
)
@click.option("--replace", is_flag=True, help="Replace soak data that is here already.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@create_option
@click.option("--reason", required=True, help="Why; kept in the journal.")
@own_journal_option
def bring(
    source: str,
    org: str | None,
    replace: bool,
    dry_run: bool,
    yes: bool,
    creates: bool,
    reason: str,
    database: str,
) -> None:
    """Import soak data of AUS, or of another journal.

    A cluster that reported there counts as seen healthy at its last check-in, if its name is
    unique; so neither a migration nor a lost database resets soak.
    """
    documents = _documents(source, org)
    wanted = ImportedSoak(documents=documents, origin=source, reason=reason, replace=replace)
    with opened(database, writes=not dry_run, creates=creates and not dry_run) as store:
        planned = plan_soak_import(store, wanted)
        lines = [f"{each.key}: {soak_text(each)}" for each in planned.items]
        if replace:
            lines.append("replaces what has soaked here: that is not counted any more")
        confirmed("\n".join(lines), len(lines), yes or dry_run, ALWAYS if replace else FREE)
        if not dry_run:
            import_soak(store, wanted, clock().now(), f"user:{whoami()}")


def _documents(source: str, org: str | None) -> dict[str, Any]:
    """Documents by `env/org`: of a folder, of one file with all of them, or of one."""
    path = Path(source)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        names = ("/".join(each.relative_to(path).parts) for each in files)
        keys = (name.removeprefix(f"{_ADDONS}/") for name in names)
        found = {key: _read(str(each)) for key, each in zip(keys, files, strict=True)}
    else:
        value = _read(source)
        found = {org: value} if org is not None else value
    if not found:
        raise UserError((Problem(source, "empty", "name what was exported"),))
    check_soak(found, source, named=org is None)
    return found


def _read(file: str) -> Any:
    try:
        value = decode_json(bounded_bytes(file))
    except (OSError, msgspec.DecodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise UserError((Problem(file, what.lower(), "name a JSON file"),)) from None
    if not isinstance(value, dict):
        raise UserError((Problem(file, "not an object", "name what was exported"),))
    return value
