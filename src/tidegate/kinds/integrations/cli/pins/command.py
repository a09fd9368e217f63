"""`pin` and `unpin`: targets stay where they are, by the journal; shards keep an image, by Git.

One verb for both, because people mean one thing. A target is named, and stays until the pin is
lifted: that is a brake, and works within a second. Shards of an integration are named with
`--shard`, `--all-except` or `--try`: that is a line in the bundle, which is reviewed and merged.
"""

import re
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.live import create_option
from tidegate.cli.merge_requests.proposal_options import (
    FORGE_SETTINGS,
    Proposing,
    proposing_options,
)
from tidegate.cli.output import emit
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Act
from tidegate.settings.settings import Merged

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.pins.plan import PinPlan, PinPlanReport
    from tidegate.kinds.integrations.app.pins.planner import PinGround
    from tidegate.kinds.integrations.cli.estate import EstateQuery

FORMATS = ("table", "json", "yaml")
SETTINGS = (
    "bundle", "parameters", "overlay", "kubeconfig", "contexts", "pods", "registry",
    "registryAuth", "database", *FORGE_SETTINGS,
)  # fmt: skip
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WHOLE_DAYS = re.compile(r"\d+d", re.ASCII)


@click.command(
    cls=Act,
    examples="""
    tidegate pin terraform-resources --all-except ter-int-dev --reason "trying 1a2b3c4"
    tidegate pin terraform-resources --shard app-sre --shard app-sre-ci --expires 2026-12-01 \\
        --environment app-interface-production --reason "the fix is not out yet"
    tidegate pin terraform-resources --try 1a2b3c4 --shard ter-int-dev \\
        --environment app-interface-production --reason "the risky one"
    tidegate pin cluster/prod-eu-1 --reason "customer demo" --expires 3d
    tidegate pin prod-eu-1 prod-eu-2 --name demo --reason "customer demo"
    """,
)
@click.argument("names", nargs=-1, required=True, metavar="INTEGRATION | TARGET...")
@click.option("--shard", "shards", multiple=True, metavar="S", help="A shard, by name; repeatable.")
@click.option(
    "--all-except", "but", multiple=True, metavar="S", help="Every shard but this one; repeatable."
)
@click.option("--try", "tries", metavar="REF", help="Give the shards another image, on trial.")
@click.option("--image", metavar="REF", help="The image to keep; default: what each shard runs.")
@click.option("--wanted", is_flag=True, help="Keep the image that the bundle declares now.")
@click.option(
    "--environment", "environments", multiple=True, help="Only in this environment; repeatable."
)
@click.option("--reason", required=True, help="Why; shown by `get pins` and `why`.")
@click.option(
    "--expires",
    metavar="WHEN",
    help="When it ends: 2026-12-01, a time, or how long from now: 2h, 3d.",
)
@click.option("--owner", help="The person to ask about it; default: you.")
@click.option("--name", help="Of targets: the name of the pin; default: the first target.")
@click.option(
    "--kind", "kinds", multiple=True, help="Of targets: pin them for this kind of change only."
)
@click.option("--replace", is_flag=True, help="Of targets: replace a pin of this name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@create_option
@proposing_options(but=("reason", "yes"))
@settings_options(*SETTINGS, "server", "serverToken")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def pin(
    names: tuple[str, ...], merged: Merged, proposing: Proposing, output: str, **asked: Any
) -> None:
    """Keep shards of an INTEGRATION on their image, in the bundle; or TARGETs where they are.

    With --shard, --all-except or --try, files of the bundle are changed: each shard keeps what it
    runs now, which restarts nothing, and later promotions reach the others. Every line
    is shown; nothing is written unless --write, --commit, --push or --open-mr says so.

    Without them it is a brake in the journal: targets neither start nor return, no group waits for
    them, and it takes effect within a second.
    """
    if not _in_bundle(names, asked):
        _no_files(proposing)
        _pin_targets(names, merged, **asked)
        return
    from tidegate.cli.live import whoami
    from tidegate.kinds.integrations.app.pins.planner import PinRequest, plan_pin
    from tidegate.kinds.integrations.core.review.notes import PinNote
    from tidegate.wiring import clock

    until = _until(asked["expires"], clock().now()) if asked["expires"] else ""
    if not asked["reason"].strip():
        raise click.UsageError("--reason: is empty; write why, it is shown to all who ask")
    note = PinNote(by=asked["owner"] or whoami(), reason=asked["reason"], until=until)
    request = PinRequest(
        shards=_split(asked["shards"]),
        but=_split(asked["but"]) or None,
        image=asked["tries"] or asked["image"] or "",
        wanted=asked["wanted"],
        note=note,
    )
    bundle = _bundle(names[0], merged, asked["environments"])
    plan = _planned(bundle, lambda ground: plan_pin(ground, names[0], request))
    if asked["tries"]:
        _warn_of_default(plan)
    _carry_out(bundle, plan, proposing, "pin", output)


def _planned(
    asked: "EstateQuery", work: "Callable[[PinGround], Coroutine[Any, Any, PinPlan]]"
) -> "PinPlan":
    """A plan, with its warnings printed."""
    import asyncio

    from tidegate.kinds.integrations.app.pins.planner import PinGround
    from tidegate.kinds.integrations.cli.site import site_of
    from tidegate.wiring import bundles, outside

    async def run() -> "PinPlan":
        settings = asked.settings
        async with asked.reading() as find:
            return await work(
                PinGround(
                    view=asked.view,
                    read=lambda tree: bundles.read_live_bundle(tree, bundles.bundle_cache()),
                    site=site_of(settings),
                    registry=outside.registry(settings.registry, settings.registry_auth),
                    find=find,
                )
            )

    plan = asyncio.run(run())
    for warning in plan.warnings:
        click.echo(f"warning: {warning}", err=True)
    return plan


def _warn_of_default(plan: "PinPlan") -> None:
    """Warn where the other shards follow a default that can move while one is on trial."""
    for place in {pin.aim.place.name: pin.aim.place for pin in plan.pins}.values():
        if not place.managed.spec.get("imageRef"):
            where = place.managed.namespace.environment
            what = f"the others run whatever is promoted to {where}"
            click.echo(f"warning: {what}; spec.imageRef of {place.name} would keep them", err=True)


def _in_bundle(names: tuple[str, ...], asked: dict[str, Any]) -> bool:
    """Whether a pin is one of the bundle; UsageError for what fits neither."""
    chosen = [flag for flag, key in (("--shard", "shards"), ("--all-except", "but")) if asked[key]]
    images = {"--try": asked["tries"], "--image": asked["image"], "--wanted": asked["wanted"]}
    given = [flag for flag, value in images.items() if value]
    if not chosen and not given and not asked["environments"]:
        return False
    wrong = [f"--{key}" for key in ("name", "kinds", "replace") if asked[key]]
    if len(names) > 1:
        raise click.UsageError("one integration at a time; its shards go with --shard")
    if len(chosen) != 1:
        name = names[0].rpartition("/")[2] if "/" in names[0] else "NAME"
        whose = names[0].removeprefix("shard/").partition("/")[0]
        example = f"`tidegate pin {whose} --shard {name}`"
        what = "which shards? Either --shard or --all-except" if chosen else "which shards?"
        raise click.UsageError(f"{what}; write {example}, or --all-except NAME")
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} say different things; write one")
    if asked["tries"] and asked["but"]:
        raise click.UsageError("--try is for the few: name them with --shard")
    if wrong:
        raise click.UsageError(f"{wrong[0].rstrip('s')} is for targets, not for shards")
    return True


def _split(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names, however many in one flag."""
    return tuple(name.strip() for each in names for name in each.split(",") if name.strip())


def _until(text: str, now: int) -> str:
    """A day or a time to come, as a note has it."""
    from tidegate.cli.moment import ahead
    from tidegate.kinds.integrations.core.review.notes import expiry_of
    from tidegate.model.time import Instant, format_second

    if _DATE.fullmatch(text):
        try:
            ends = expiry_of(text)
        except ValueError as error:
            raise click.UsageError(f'--expires "{text}": {error}') from None
        if ends <= now:
            raise click.UsageError(f'--expires "{text}" is past; write one to come, like 3d')
        return text
    moment = format_second(ahead("--expires", text, Instant(now)))
    return moment[:10] if _WHOLE_DAYS.fullmatch(text) else moment


def _bundle(integration: str, merged: Merged, environments: tuple[str, ...]) -> "EstateQuery":
    from tidegate.kinds.integrations.cli.estate import EstateQuery

    chosen = {"integrations": (integration,), "environments": _split(environments)}
    asked = EstateQuery(None, merged, chosen)
    asked.tell_problems()
    return asked


def _no_files(proposing: Proposing) -> None:
    if proposing.wanted:
        what = "--write, --commit, --push and --open-mr are for shards of an integration"
        raise click.UsageError(f"{what}; name them with --shard")


def _carry_out(
    asked: "EstateQuery", plan: "PinPlan", proposing: Proposing, verb: str, output: str
) -> None:
    """Show what changes, and write or propose it as asked."""
    document = plan.document()
    if output != "table":
        emit(document, output)
    else:
        for line in plan_lines(document):
            click.echo(line)
    # What is written here already may be offered still.
    if plan.edited or proposing.wanted:
        from tidegate.kinds.integrations.cli.pins.offer import carry_out

        carry_out(asked, plan, proposing, verb, output)


def plan_lines(plan: "PinPlanReport") -> Iterator[str]:
    """Each line that changes, and a summary."""
    for each in plan.lines:
        where = f"{each.file}:{each.line}"
        if each.old is None:
            yield f"{where}  + {each.new}"
        elif each.new is None:
            yield f"{where}  - {each.old}"
        else:
            yield f"{where}  {each.old.strip()} → {each.new.strip()}"
    if not plan.lines:
        yield "nothing changes: it is written so already"
    yield plan.summary
    if plan.rest:
        yield plan.rest


def _pin_targets(names: tuple[str, ...], merged: Merged, **asked: Any) -> None:
    """The brake: targets stay where they are."""
    from tidegate.app.brakes.scope import BrakeScope
    from tidegate.cli.answers.place import AnswerPlace
    from tidegate.cli.brakes.options import add, end_of, request_of
    from tidegate.kinds.integrations.core.review.notes import expiry_of
    from tidegate.model.target import bare
    from tidegate.model.time import format_instant
    from tidegate.wiring import clock

    now, expires = clock().now(), asked["expires"]
    if expires and _DATE.fullmatch(expires):
        expires = format_instant(expiry_of(_until(expires, now)))
    _guide(names, merged)
    scope = BrakeScope(targets=tuple(map(bare, names)), kinds=asked["kinds"])
    called, ends = asked["name"] or scope.targets[0], end_of("--expires", expires)
    request = request_of("pin", called, scope, asked, expires_at=ends)
    add(AnswerPlace.of(merged.settings()), request, yes=asked["yes"], creates=asked["creates"])


def _guide(names: tuple[str, ...], merged: Merged) -> None:
    """UsageError for an integration that is named as if it were a target."""
    from tidegate.kinds.integrations.cli.pins.pin_list import bundle_if_any
    from tidegate.model.target import bare

    plain = [name for name in map(bare, names) if "/" not in name]
    found = bundle_if_any(merged) if plain else None
    for place in found.estate.places if found is not None else ():
        name, first = place.integration.name, place.units[0].name
        if name in plain and all(unit.name != name for unit in place.units):
            example = f"`tidegate pin {name} --shard {first.partition('/')[2]}`, or --all-except"
            raise click.UsageError(
                f'"{name}" is an integration: which shards? To keep some on their image, write '
                f"{example}; to stop rollouts from moving one, `tidegate pin {first}`"
            )


@click.command(
    cls=Act,
    examples="""
    tidegate unpin terraform-resources --all
    tidegate unpin terraform-resources --shard ter-int-dev --environment app-interface-production
    tidegate unpin prod-eu-1
    """,
)
@click.argument("names", nargs=-1, required=True, metavar="INTEGRATION | PIN...")
@click.option("--shard", "shards", multiple=True, metavar="S", help="A shard, by name; repeatable.")
@click.option("--all", "every", is_flag=True, help="Every shard that is pinned in the bundle.")
@click.option(
    "--environment", "environments", multiple=True, help="Only in this environment; repeatable."
)
@click.option("--reason", default="", help="Why.")
@proposing_options(but=("reason",))
@settings_options(*SETTINGS, "server", "serverToken")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def unpin(
    names: tuple[str, ...],
    shards: tuple[str, ...],
    every: bool,
    environments: tuple[str, ...],
    reason: str,
    merged: Merged,
    proposing: Proposing,
    output: str,
) -> None:
    """Remove the pinned image of shards of an INTEGRATION, in the bundle; or remove PINs.

    With --shard or --all, files of the bundle are changed, and the shards want what the others
    have; every line is shown, and nothing written unless --write, --commit, --push or --open-mr
    says so. Without, pins of the journal are removed: the targets move with the rest again.
    """
    if not (shards or every or environments):
        _no_files(proposing)
        _lift(names, reason, merged, yes=proposing.yes)
        return
    if len(names) > 1:
        raise click.UsageError("one integration at a time; its shards go with --shard")
    if bool(shards) == every:
        raise click.UsageError("which shards? Either --shard NAME or --all")
    from tidegate.kinds.integrations.app.pins.planner import plan_unpin

    bundle = _bundle(names[0], merged, environments)
    chosen = _split(shards)
    plan = _planned(bundle, lambda ground: plan_unpin(ground, names[0], chosen))
    _carry_out(bundle, plan, proposing, "unpin", output)


def _lift(names: tuple[str, ...], reason: str, merged: Merged, *, yes: bool) -> None:
    from tidegate.cli.answers.place import AnswerPlace, answering
    from tidegate.cli.brakes.options import lift
    from tidegate.model.errors import UserError
    from tidegate.model.target import bare

    plain = tuple(map(bare, names))
    try:
        with answering(AnswerPlace.of(merged.settings()), writes=True) as answers:
            lift(answers, "pin", plain, reason, yes=yes)
    except UserError as error:  # no such pin, or no journal
        hint = next(filter(None, (_pinned_in_bundle(name, merged) for name in plain)), "")
        raise click.UsageError(f"{error.text()}{hint}") from None
    for name in plain:
        if hint := _pinned_in_bundle(name, merged):
            click.echo(f"note: {name} still has an image of its own{hint}", err=True)


def _pinned_in_bundle(name: str, merged: Merged) -> str:
    """What to write for a shard, or an integration, that is pinned in the bundle."""
    from tidegate.kinds.integrations.cli.pins.pin_list import bundle_if_any

    found = bundle_if_any(merged)
    for place in found.estate.places if found is not None else ():
        integration = place.integration.name
        for unit in place.units:
            if unit.pinned_by and name in (unit.name, integration):
                shard = unit.name.removeprefix(integration).strip("/")
                which = f"--shard {shard}" if name == unit.name and shard else "--all"
                return f"; in the bundle, write `tidegate unpin {integration} {which}`"
    return ""
