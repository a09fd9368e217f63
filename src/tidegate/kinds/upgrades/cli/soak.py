"""`tidegate soak`: what versions have soaked, brought along from elsewhere and handed on."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from tidegate.cli.live import confirmed, opened, signed
from tidegate.cli.output import emit
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command, LazyGroup
from tidegate.kinds.upgrades.cli.journal_soak import kept_of
from tidegate.kinds.upgrades.core.journal.facts import Imported
from tidegate.kinds.upgrades.core.journal.state import soak_doc
from tidegate.kinds.upgrades.core.rules.soak import DAY, Ledger
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.wire.state import check_ledger, read_ledger, write_ledger
from tidegate.model.counted import counted
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.store.port import Store
from tidegate.wiring import clock

_DEPTH = 2  # prod/o-payments; what comes behind is an add-on
# In folders what add-ons have soaked is apart: nothing is a file and a folder at once.
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
@click.option("--to", "folder", type=click.Path(file_okay=False), help="A file each, in here.")
@database_option
def export(orgs: tuple[str, ...], folder: str | None, database: str) -> None:
    """Write soak data, in the format of AUS.

    AUS and Tidegate read it, so that no soak is lost in either direction. Soak data of add-ons is
    under ENV/ORG/ADDON; in a folder below `addons`.
    """
    now = clock().now()
    with opened(database) as store:
        wanted = _wanted(store, orgs)
        found = {name: one for key in wanted for name, one in kept_of(store, key).items()}
    documents = {key: write_ledger(each, now) for key, each in found.items()}
    if folder is None:
        emit(documents, "json")
        return
    for key, document in documents.items():
        file = Path(folder) / (f"{_ADDONS}/{key}" if _split(key)[1] else key)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(document, order="sorted"))
        file.write_bytes(text + b"\n")
        click.echo(f"{file}: {_told(found[key])}", err=True)


@click.command(
    "import",
    cls=Command,
    examples="""
    tidegate upgrades soak import soak.json --reason "moving over"
    tidegate upgrades soak import state/ --reason "moving over"       files as state/prod/o-payments
    tidegate upgrades soak import history.json --org prod/o-payments --reason …
    """,
)
@click.argument("source", type=click.Path(allow_dash=True))
@click.option("--org", metavar="ENV/ORG", help="Whose it is, where the file does not say.")
@click.option("--replace", is_flag=True, help="Even where something has soaked here already.")
@click.option("--dry-run", is_flag=True, help="Only say what would be taken over.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@database_option
def bring(
    source: str,
    org: str | None,
    replace: bool,
    dry_run: bool,
    yes: bool,
    reason: str,
    database: str,
) -> None:
    """Import soak data of AUS, or of another journal.

    A cluster that reported there counts as seen healthy at its last check-in, if its name is
    unique; so neither a migration nor a lost database resets soak.
    """
    documents = _documents(source, org)
    now = clock().now()
    with opened(database, writes=not dry_run) as store:
        lines: list[str] = []
        for key, document in documents.items():
            here = kept_of(store, _split(key)[0]).get(key, Ledger())
            if here.days and not replace:
                what = f"{_told(here)} already"
                remedy = "write --replace to put what is in the file in its place"
                raise UserError((Problem(key, what, remedy),))
            lines.append(f"{key}: {_told(read_ledger(document))}")
        confirmed("\n".join(lines), len(lines), yes or dry_run)
        for key, document in () if dry_run else documents.items():
            doc = soak_doc(read_ledger(document))
            own, addon = _split(key)
            fact = Imported(soak=doc, addon=addon, origin=source, reason=reason)
            store.append(f"{PARTITION}/{own}", [signed(fact, now)])


def _wanted(store: Store, orgs: tuple[str, ...]) -> list[str]:
    prefix = f"{PARTITION}/"
    known = [each.removeprefix(prefix) for each in store.partitions() if each.startswith(prefix)]
    for each in orgs:
        if each not in known:
            hint = nearest_or_all(each, known, "nothing was looked at yet")
            raise click.UsageError(f'no organisation "{each}"; {hint}')
    return [each for each in known if not orgs or each in orgs]


def _split(key: str) -> tuple[str, str]:
    """The organisation a document is of, and the add-on; empty: it is of clusters."""
    parts = key.split("/")
    return "/".join(parts[:_DEPTH]), "/".join(parts[_DEPTH:])


def _told(ledger: Ledger) -> str:
    versions = {version for version, _ in ledger.days}
    days = sum(ledger.days.values()) / DAY
    return f"{counted(len(versions), 'version')}, {days:.2f} days"


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
        raise UserError((Problem(source, "nothing is in it", "name what was exported"),))
    problems = [
        problem
        for key, value in found.items()
        for problem in _problems(source, key, value, org is None)
    ]
    if problems:
        raise UserError(tuple(problems))
    return found


def _problems(source: str, key: str, value: Any, named: bool) -> list[Problem]:
    parts = key.split("/")
    if len(parts) < _DEPTH or not all(parts):
        remedy = "write --org ENV/ORG for a document of one organisation" if named else ""
        return [Problem(f"{source}: {key}", "is no environment and organisation", remedy)]
    wrong = check_ledger(value)
    return [Problem(f"{source}: {key}", wrong, "name what was exported")] if wrong else []


def _read(file: str) -> Any:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        value = msgspec.json.decode(raw)
    except (OSError, msgspec.DecodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise UserError((Problem(file, what.lower(), "name a JSON file"),)) from None
    if not isinstance(value, dict):
        raise UserError((Problem(file, "is no object", "name what was exported"),))
    return value
