"""What the commands that set brakes share: the scope, the targets it covers, the record."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from tidegate.app.reach import PartitionReach, reach_of
from tidegate.cli.live import confirmed, journals, signed, whoami
from tidegate.cli.moment import ahead
from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import parse_selector
from tidegate.engine.brakes.book import BrakeBook
from tidegate.gates.brakes import Brakes
from tidegate.journal.brake_state import FIELDS, PARTITION, BrakeRecord
from tidegate.journal.facts import Braked, Lifted
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest, nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_age, format_instant, format_second
from tidegate.store.port import Store


def scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The scope of a brake."""
    for option in (
        click.option("--everything", is_flag=True, help="Cover everything."),
        click.option("-l", "--selector", metavar="LABELS", help="By labels: 'env=prod,!canary'."),
        click.option("--target", "targets", multiple=True, help="By name; repeatable."),
        click.option(
            "--kind", "kinds", multiple=True, help="This kind of change only; repeatable."
        ),
    ):
        command = option(command)
    return command


def said_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The owner of a brake, its reason, and its end."""
    for option in (
        click.option("--reason", required=True, help="Why; shown for every target that waits."),
        click.option("--owner", help="The person to ask about it; default: you."),
        click.option("--expires", metavar="WHEN", help="A time, or from now on: 2h, 3d."),
        click.option("--replace", is_flag=True, help="Replace a brake of this name."),
        click.option("--yes", is_flag=True, help="Do not ask."),
    ):
        command = option(command)
    return command


def scope_document(
    everything: bool, selector: str | None, targets: tuple[str, ...], kinds: tuple[str, ...]
) -> dict[str, Any]:
    """The scope as a document has it; what is wrong with it is found where documents are read."""
    scope: dict[str, Any] = {}
    if everything:
        scope["everything"] = True
    if selector is not None:
        try:
            scope["selector"] = parse_selector(selector)
        except ValueError as error:
            raise click.UsageError(f"--selector: {error}") from None
    if targets:
        scope["targets"] = [bare(name) for name in targets]
    if kinds:
        scope["kinds"] = list(kinds)
    if not scope:
        raise click.UsageError("Specify a scope: --everything, -l LABELS, --target or --kind")
    return scope


def common(
    name: str,
    scope: dict[str, Any],
    reason: str,
    owner: str | None,
    expires: str | None,
    now: Instant,
    option: str = "--expires",
) -> dict[str, Any]:
    """What every brake's document has; `option` is what its end is called."""
    document: dict[str, Any] = {
        "name": name,
        "scope": scope,
        "owner": owner or whoami(),
        "reason": reason,
    }
    if expires:
        document["expires"] = format_instant(ahead(option, expires, now))
    return document


def read_one(kind: str, document: dict[str, Any], now: Instant) -> Brakes:
    """The brake as the rules will see it; UserError lists all that is wrong with it."""
    problems = Problems()
    brakes = read_brakes(Reader({FIELDS[kind]: [document]}, "", problems), stretch_from(now))
    if problems.errors:
        field = f"{FIELDS[kind]}[0]"
        raise UserError(
            tuple(
                Problem(each.path.removeprefix(field).lstrip("."), each.message, each.remedy)
                for each in problems.errors
            )
        )
    return brakes


def add(
    store: Store,
    kind: str,
    document: dict[str, Any],
    now: Instant,
    *,
    replace: bool,
    yes: bool,
    tell: Callable[[list[PartitionReach]], Iterator[str]],
) -> None:
    """Show what a brake covers, ask if it is much, and record it."""
    brakes = read_one(kind, document, now)
    known = known_as(store, kind, document, now, replace=replace)
    reached, names = reach_of(journals(store, now), FIELDS[kind], brakes)
    lines = [*_strangers(names, brakes, kind), *tell(reached)]
    lines = lines or ["covers no target of any rollout known here"]
    for line in lines[:-1]:
        click.echo(line, err=True)
    confirmed(lines[-1], sum(each.targets for each in reached), yes)
    set_down(store, kind, document, now, anew=known is not None)


def known_as(
    store: Store, kind: str, document: dict[str, Any], now: Instant, *, replace: bool
) -> BrakeRecord | None:
    """The brake of that kind and name that is on; UsageError unless it may be replaced."""
    name = str(document["name"])
    known = BrakeBook(store).state().on.get((kind, name))
    if known is not None and not replace:
        raise click.UsageError(
            f'{kind} "{name}" is on already ({_said(known, now)}); --replace, or another name'
        )
    return known


def set_down(
    store: Store, kind: str, document: dict[str, Any], now: Instant, *, anew: bool
) -> None:
    """Record a brake, with its owner and its reason."""
    name, reason = str(document["name"]), str(document["reason"])
    fact = Braked(brake=kind, name=name, document=document, reason=reason)
    store.append(PARTITION, [signed(fact, now)])
    begins = _scheduled(document, now) if kind == "freeze" else None
    if begins is None:
        click.echo(f"{kind} {name} is {'replaced' if anew else 'on'}{_until(document)}")
    else:
        click.echo(f"Freeze {name} {'re' if anew else ''}scheduled: {begins}")


def _scheduled(document: dict[str, Any], now: Instant) -> str | None:
    """The next time of a freeze that is not on now; None: it is on."""
    spans = [span for span in read_one("freeze", document, now).freezes[0].spans if span.end > now]
    if not spans:
        return "all its times are past"
    if spans[0].start <= now:
        return None
    return f"{format_second(spans[0].start)} – {format_second(spans[0].end)}"


def _strangers(known: set[str], brakes: Brakes, kind: str) -> Iterator[str]:
    """A warning for each target it names that no rollout has."""
    names = getattr(brakes, FIELDS[kind])[0].scope.targets or frozenset()
    for name in sorted(names - known):
        hint = nearest(name, known) or "it is covered once there is one"
        yield f'Warning: no target "{name}" in any rollout; {hint}'


def lift(store: Store, kind: str, names: tuple[str, ...], reason: str, now: Instant) -> None:
    """Take brakes away; a misspelt name gets the nearest one, and nothing is lifted."""
    found = find_brakes(store, kind, names)
    facts = [Lifted(brake=kind, name=name, reason=reason) for name in names]
    store.append(PARTITION, [signed(fact, now) for fact in facts])
    for brake in found:
        click.echo(f"{kind} {brake.name} is lifted; it was on for {_age(brake, now)}")


def find_brakes(store: Store, kind: str, names: Iterable[str]) -> list[BrakeRecord]:
    """Brakes of the journal by name; a misspelt one gets the nearest."""
    on = BrakeBook(store).state().on
    there = sorted(name for known, name in on if known == kind)
    for name in names:
        if (kind, name) not in on:
            raise click.UsageError(f'no {kind} "{name}"; {nearest_or_all(name, there)}')
    return [on[kind, name] for name in names]


def _said(brake: BrakeRecord, now: Instant) -> str:
    return f"{brake.by.removeprefix('user:')}, {_age(brake, now)} ago: {brake.document['reason']}"


def _age(brake: BrakeRecord, now: Instant) -> str:
    return format_age(now - brake.at)


def _until(document: dict[str, Any]) -> str:
    return f" until {document['expires']}" if "expires" in document else ""
