"""`tidegate get holds|freezes|blocks|expedites|claims`: what brakes are on, and who holds what."""

from typing import Any

import click

from tidegate.cli.output import emit, terminal_width
from tidegate.engine.brakes.book import BrakeBook
from tidegate.explain.table import layout
from tidegate.gates.scope import Brake, in_force
from tidegate.journal.brake_state import FIELDS, BrakeState
from tidegate.journal.keys import target_of
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_second
from tidegate.store.port import Store
from tidegate.wiring import clock

_KINDS = {field: kind for kind, field in FIELDS.items()}


def list_brakes(store: Store, what: str, name: str | None, output: str, no_headers: bool) -> None:
    """List brakes of one kind, or claims."""
    now = clock().now()
    items = _claims(store) if what == "claims" else listed(store, what, now)
    if name is not None:
        known = [item["name"] for item in items]
        items = [item for item in items if item["name"] == name]
        if not items:
            hint = nearest_or_all(name, known)
            raise click.UsageError(f'no {what.removesuffix("s")} "{name}"; {hint}')
    if output == "name":
        for item in items:
            click.echo(f"{what.removesuffix('s')}/{item['name']}")
        return
    if output in ("json", "yaml"):
        emit({"kind": f"{what.removesuffix('s').title()}List", "items": items}, output)
        return
    if not items:
        click.echo(f"no {what}", err=True)
        return
    head, rows = _table(what, items, wide=output == "wide")
    for line in layout(head, rows, terminal_width(), headed=not no_headers):
        click.echo(line)


def listed(store: Store, what: str, now: Instant) -> list[dict[str, Any]]:
    """Every brake of one kind, by name."""
    book = BrakeBook(store)
    brakes, state = book.read(now), book.state()
    found = {brake.name: _item(brake, state, _KINDS[what], now) for brake in getattr(brakes, what)}
    return [found[name] for name in sorted(found)]


def _item(brake: Brake, state: BrakeState, kind: str, now: Instant) -> dict[str, Any]:
    known = state.on.get((kind, brake.name))
    document = dict(known.document) if known is not None else {}
    return {
        **document,
        "name": brake.name,
        "owner": brake.owner,
        "reason": brake.why,
        "inForce": in_force(brake, now),
        "expires": format_second(brake.expires_at) if brake.expires_at is not None else None,
        "since": format_second(known.at) if known is not None else None,
        "by": known.by if known is not None else None,
        "next": _next(brake, now),
    }


def _next(brake: Brake, now: Instant) -> str | None:
    """When a freeze is on, or on next."""
    for span in getattr(brake, "spans", ()):
        if span.end > now:
            return f"{format_second(span.start)} – {format_second(span.end)}"
    return None


def _claims(store: Store) -> list[dict[str, Any]]:
    return [
        {
            "name": claim.name,
            "place": claim.place,
            "target": target_of(claim.partition, claim.key),
            "rollout": claim.partition,
            "since": format_second(claim.at),
            "key": claim.key,
        }
        for claim in store.claims()
    ]


# The column that only one kind of brake has, and the field it shows.
_EXTRAS = {
    "freezes": ("NEXT", "next"),
    "blocks": ("REVISION", "revision"),
    "expedites": ("VERSION", "version"),
}


def _table(
    what: str, items: list[dict[str, Any]], *, wide: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    if what == "claims":
        for item in items:
            place, since = str(item["place"]), str(item["since"])
            rows.append((item["name"], place, item["target"], item["rollout"], since))
        return ("NAME", "PLACE", "TARGET", "ROLLOUT", "SINCE"), rows
    head: tuple[str, ...] = ("NAME", "COVERS", "OWNER", "EXPIRES", "REASON")
    extra = _EXTRAS.get(what)
    if extra is not None:
        head = (head[0], extra[0], *head[1:])
    if wide:
        head += ("SINCE", "BY")
    for item in items:
        row = [
            item["name"],
            covers(item.get("scope")),
            item["owner"],
            _expiry(item),
            item["reason"],
        ]
        if extra is not None:
            row.insert(1, str(item.get(extra[1]) or "-"))
        if wide:
            row += [item["since"] or "-", (item["by"] or "-").removeprefix("user:")]
        rows.append(tuple(row))
    return head, rows


def _expiry(item: dict[str, Any]) -> str:
    if item["expires"] is None:
        return "never"
    return str(item["expires"]) if item["inForce"] else "expired"


def covers(scope: Any) -> str:
    """Whom a scope covers, in few words."""
    if not isinstance(scope, dict):
        return "everything"
    words: list[str] = []
    if scope.get("targets"):
        words.append(", ".join(scope["targets"]))
    selector = scope.get("selector") or {}
    words += [f"{key}={value}" for key, value in selector.get("matchLabels", {}).items()]
    words += [_expression(each) for each in selector.get("matchExpressions", [])]
    kinds = ", ".join(scope.get("kinds", []))
    whom = ",".join(words) or "everything"
    return f"{whom} ({kinds})" if kinds else whom


def _expression(each: dict[str, Any]) -> str:
    key, values = each["key"], ",".join(each.get("values", []))
    alone = len(each.get("values", [])) == 1
    forms = {
        "In": f"{key}={values}" if alone else f"{key} in ({values})",
        "NotIn": f"{key}!={values}" if alone else f"{key} notin ({values})",
        "Exists": str(key),
    }
    return forms.get(each["operator"], f"!{key}")
