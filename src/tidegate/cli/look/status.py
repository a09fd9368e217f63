"""`tidegate status`, `get` and `show`: what moves, what waits, what needs a person."""

import click
from msgspec.structs import asdict

from tidegate.app.documents import RolloutItem, RolloutList, StatusReport
from tidegate.app.tally import DONE, FAILED
from tidegate.app.text.view_text import (
    GROUP_HEAD,
    TARGET_HEAD,
    group_rows,
    request_lines,
    target_rows,
)
from tidegate.app.text.worker_text import WORKER_HEAD, standby_rows, worker_rows
from tidegate.app.workers import trouble_lines
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option, then_option
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.render.past_text import refuse_watch, tell_past
from tidegate.cli.render.worker_text import tell_trouble
from tidegate.cli.setting_options import color_option, settings_options
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.model.time import format_age, format_second, in_seconds, parse_instant
from tidegate.settings.settings import Merged
from tidegate.wiring import clock

FORMATS = ("table", "wide", "json", "yaml", "name")
# How often a watched table is drawn again.
WATCH_S = 1.0


@click.command(
    cls=Command,
    examples="""
    tidegate status                   per kind: moving, waiting, failed; what needs a person
    tidegate status -w                the same, as it changes
    tidegate status --at 2h           as it was two hours ago
    """,
)
@answers_option
@then_option
@click.option("-w", "--watch", is_flag=True, help="Update it as it changes.")
@click.option("-o", "--output", type=click.Choice(FORMATS[:1] + FORMATS[2:4]), default="table")
@color_option
def status(place: AnswerPlace, then: str, watch: bool, output: str, color: str) -> None:
    """Show per kind what moves, waits or failed, and what needs action."""
    refuse_watch(then, watch)
    with answering(place, then=then) as answers:
        for _ in again(watch, WATCH_S):
            report = answers.status()
            tell_past(then, report.at, report.unknown)
            if output == "table":
                for line in status_lines(report, terminal_width()):
                    say(line, wants_colour(color))
            else:
                emit(report, output)


def status_lines(report: StatusReport, width: int | None = None) -> list[str]:
    """The kinds as a table, and what needs a person."""
    rows = [
        (kind, *(str(counts.get(word, 0)) for word in _STATUS_WORDS))
        for kind, counts in report.kinds.items()
    ]
    head = ("KIND", *(word.upper() for word in _STATUS_WORDS))
    words = [
        f"{count} {_singular(what) if count == 1 else what}"
        for what, count in report.needs.items()
        if count
    ]
    now = parse_instant(report.at)
    table = [*worker_rows(report.workers, now), *standby_rows(report.standbys, now)]
    workers = layout(WORKER_HEAD, table, width) if table else []
    return [
        *layout(head, rows, width),
        *([""] if workers else []),
        *workers,
        *trouble_lines(report.workers, now),
        f"Action required: {', '.join(words) or 'none'}",
    ]


def _singular(what: str) -> str:
    """failures, mistakes in labels: the first word loses its s."""
    first, space, rest = what.partition(" ")
    return first.removesuffix("s") + space + rest


_STATUS_WORDS = ("rollouts", "moving", "waiting", "done", "failed", "held", "stopped")


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "rollouts": ("tidegate.cli.look.status:get_rollouts", "Rollouts and their progress"),
        "policies": (
            "tidegate.cli.look.status:get_policies",
            "Policies of a hub: revision, groups, progress",
        ),
        "shards": (
            "tidegate.kinds.integrations.cli.shards:get_shards",
            "Shards: declared and running image, and why",
        ),
        "clusters": (
            "tidegate.kinds.upgrades.cli.cluster_list:get_clusters",
            "Clusters: version, next version, and why",
        ),
        "promotions": (
            "tidegate.kinds.promotions.cli.promotions:get_promotions",
            "Which version is in which environment",
        ),
        "holds": ("tidegate.cli.look.status:get_holds", "Holds, until they are removed"),
        "freezes": ("tidegate.cli.look.status:get_freezes", "Times at which nothing starts"),
        "blocks": ("tidegate.cli.look.status:get_blocks", "Revisions that start nowhere"),
        "expedites": (
            "tidegate.cli.look.status:get_expedites",
            "Versions that skip soak and windows",
        ),
        "pins": (
            "tidegate.kinds.integrations.cli.pins.pin_list:get_pins",
            "Pinned targets and shards, and why",
        ),
        "claims": ("tidegate.cli.look.status:get_claims", "Holders of budgets and mutexes"),
    },
    examples="""
    tidegate get rollouts
    tidegate get rollouts -o json
    tidegate get shards examples/app-interface
    tidegate get clusters --org o-payments
    tidegate get holds
    tidegate get freezes -o wide
    tidegate get claims                  the places of budgets and mutexes that are taken
    """,
)
def get() -> None:
    """List rollouts, policies, shards, clusters, promotions, brakes or claims."""


# What lists rollouts, and of which kind; empty: of every kind.
_ROLLOUTS = {"rollouts": "", "policies": "policies"}


def _getter(what: str, text: str) -> click.Command:
    """The command that lists one kind of things."""

    @click.command(cls=Command, examples=f"tidegate get {what}", help=text)
    @click.argument("name", required=False)
    @answers_option
    @click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
    @click.option("-w", "--watch", is_flag=True, help="Update it as it changes.")
    @click.option("--no-headers", is_flag=True, help="Print the table without its head.")
    @color_option
    def getting(
        name: str | None,
        place: AnswerPlace,
        output: str,
        watch: bool,
        no_headers: bool,
        color: str,
        then: str = "",
    ) -> None:
        refuse_watch(then, watch)
        with answering(place, then=then) as answers:
            for _ in again(watch, WATCH_S):
                if what in _ROLLOUTS:
                    found = answers.rollout_list(name or "", _ROLLOUTS[what])
                    tell_past(then, "", found.unknown)
                    _list(found, output, no_headers, wants_colour(color), _ROLLOUTS[what] != "")
                else:
                    from tidegate.cli.brakes.list_text import list_brakes

                    list_brakes(answers, what, name, output, not no_headers)

    # Brakes of the past are in `journal show --kind braked --kind lifted`.
    return then_option(getting) if what in _ROLLOUTS else getting


get_policies = _getter("policies", "List policies of a hub: revision, groups and progress.")
get_rollouts = _getter("rollouts", "List rollouts and their progress.")
get_holds = _getter("holds", "List holds.")
get_freezes = _getter("freezes", "List the times at which nothing starts.")
get_blocks = _getter("blocks", "List the revisions that start nowhere.")
get_expedites = _getter("expedites", "List the versions that skip soak and windows.")
get_claims = _getter("claims", "List the holders of budgets and mutexes.")


def _list(
    found: RolloutList, output: str, no_headers: bool, colour: bool, grouped: bool = False
) -> None:
    now = clock().now()
    shown = [each.worker for each in found.items if each.was_removed or not each.worker.left]
    for line in trouble_lines([*shown, *found.unseen], now):
        click.echo(line, err=True)
    if output == "name":
        for one in found.items:
            click.echo(f"rollout/{one.id}")
        return
    if output in ("json", "yaml"):
        emit(found, output)
        return
    if not found.items:
        click.echo(f"no {'policies' if grouped else 'rollouts'}", err=True)
        return
    head: tuple[str, ...] = ("NAME", "STATUS", "REVISION", "DONE", "FAILED", "NEXT")
    rows = [_row(each) for each in found.items]
    if grouped:
        head += ("GROUPS",)
        rows = [(*row, _groups(each)) for row, each in zip(rows, found.items, strict=True)]
    if output == "wide":
        head += ("STRATEGY", "LAST GOOD")
        rows = [
            (*row, each.more.get("strategy", ""), each.more.get("lastGood", ""))
            for row, each in zip(rows, found.items, strict=True)
        ]
    for line in layout(head, rows, terminal_width(), headed=not no_headers):
        say(line, colour)


def _groups(one: RolloutItem) -> str:
    """Each group with how many have it: `dev 2/2, prod 0/6`."""
    sizes = [sum(asdict(each.counts).values()) for each in one.groups]
    rows = zip(one.groups, sizes, strict=True)
    return ", ".join(f"{each.name} {each.counts.done}/{size}" for each, size in rows)


def _row(one: RolloutItem) -> tuple[str, ...]:
    done = sum(one.counts.get(word, 0) for word in DONE)
    failed = sum(one.counts.get(word, 0) for word in FAILED) + one.returned
    recheck = None if one.worker.stale else one.recheck_after
    return (
        one.id,
        "Removed" if one.was_removed else one.summary,
        one.revision,
        f"{done}/{sum(one.counts.values())}",
        str(failed),
        format_age(in_seconds(recheck)) if recheck is not None else "",
    )


@click.command(
    cls=Command,
    examples="""
    tidegate show rollout/simulated/demo
    tidegate show simulated/demo --at 2h  as it was two hours ago
    tidegate show upgrades/prod/o-payments  the clusters of an organisation
    tidegate show shard/terraform-resources/ter-int-dev --bundle examples/app-interface
    """,
)
@click.argument("name")
@settings_options(
    "database", "server", "serverToken", "color", "bundle", "revision", "image", "parameters",
    "kubeconfig", "contexts",
    "pods", "registry", "registryAuth", "prometheus", "runs.through", "runs.port",
    "runs.prometheus", "runs.clusterLabel",
)  # fmt: skip
@then_option
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def show(name: str, merged: Merged, then: str, output: str) -> None:
    """Show one thing in full.

    Of a rollout, a policy, an organisation, a promotion or a pipeline: groups, targets, and the
    last events. Of a shard: declared and running image, since when, its pin, and how its last run
    ended.
    """
    settings = merged.settings()
    if name.startswith("shard/"):
        if then:
            raise click.UsageError("--at is for rollouts: shards are read from their clusters")
        from tidegate.kinds.integrations.cli.estate import EstateQuery
        from tidegate.kinds.integrations.cli.shards import show_shard

        show_shard(EstateQuery(None, merged, {}), name, output, wants_colour(settings.color))
        return
    with answering(AnswerPlace.of(settings), then=then) as answers:
        details = answers.rollout_details(name)
    tell_past(then, details.at)
    if output != "table":
        emit(details, output)
        return
    tell_trouble(details.worker)
    width, colour = terminal_width(), wants_colour(settings.color)
    lines = [f"{details.id}  {details.headline}"]
    lines += [f"stopped by: {details.stopped_by}", ""] if details.stopped_by else [""]
    if details.groups:
        lines += [*layout(GROUP_HEAD, group_rows(details.groups), width), ""]
    now = parse_instant(details.at)
    lines += request_lines(details.requests, now, width, details.worker)
    rows = target_rows(details.targets, now, details.worker)
    lines += [*layout(TARGET_HEAD, rows, width), ""]
    rows = [
        (str(e.seq), format_second(parse_instant(e.at)), e.by, e.what, e.target or "-", e.line)
        for e in details.history
    ]
    lines += layout(("SEQ", "AT", "BY", "FACT", "TARGET", "WHAT"), rows, width)
    for line in lines:
        say(line, colour)
