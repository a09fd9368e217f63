"""`tidegate status`, `get` and `show`: what moves, what waits, what needs somebody."""

from collections import Counter
from typing import Any

import click

from tidegate.cli.live import Live, find_rollout, opened, rollouts, stopped_by
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.setting_options import color_option, database_option, settings_options
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.gates.scope import kind_word
from tidegate.kinds.rollouts.core.explain.table import (
    GROUP_HEAD,
    TARGET_HEAD,
    group_rows,
    headline,
    target_rows,
)
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.kinds.upgrades.core.service import PARTITION as UPGRADES
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State
from tidegate.model.time import format_age, format_second
from tidegate.settings.settings import Merged
from tidegate.store.port import Store
from tidegate.wiring import clock

FORMATS = ("table", "wide", "json", "yaml", "name")
# How often a watched table is drawn anew.
WATCH_S = 1.0
# How many entries of its journal `show` ends with.
HISTORY = 10


@click.command(
    cls=Command,
    examples="""
    tidegate status                   per kind: moving, waiting, failed; what needs you
    tidegate status -w                the same, as it changes
    """,
)
@database_option
@click.option("-w", "--watch", is_flag=True, help="Keep showing it.")
@click.option("-o", "--output", type=click.Choice(FORMATS[:1] + FORMATS[2:4]), default="table")
@color_option
def status(database: str, watch: bool, output: str, color: str) -> None:
    """Show per kind what moves, waits or failed, and what needs action."""
    with opened(database) as store:
        for _ in again(watch, WATCH_S):
            kinds, wanted = how_it_stands(store)
            if output == "table":
                for line in status_lines(kinds, wanted):
                    say(line, wants_colour(color))
            else:
                emit({"kinds": kinds, "needs": wanted}, output)


def how_it_stands(store: Store) -> tuple[dict[str, Counter[str]], dict[str, int]]:
    """What moves, waits and failed, by kind; and what only a person can do."""
    found = rollouts(store)
    kinds, wanted = _kinds(found), needs(found)
    if any(kind_word(each) == UPGRADES for each in store.partitions()):
        from tidegate.kinds.upgrades.cli.status import upgrade_counts

        kinds[UPGRADES], more = upgrade_counts(store, clock().now())
        wanted |= {what: wanted.get(what, 0) + count for what, count in more.items()}
    return kinds, wanted


def status_lines(kinds: dict[str, Counter[str]], wanted: dict[str, int]) -> list[str]:
    """The kinds as a table, and what needs somebody."""
    rows = [
        (kind, *(str(counts[word]) for word in _STATUS_WORDS)) for kind, counts in kinds.items()
    ]
    head = ("KIND", *(word.upper() for word in _STATUS_WORDS))
    words = [
        f"{count} {_singular(what) if count == 1 else what}"
        for what, count in wanted.items()
        if count
    ]
    return [*layout(head, rows), f"needs you: {', '.join(words) or 'nothing'}"]


def _singular(what: str) -> str:
    """failures, mistakes in labels: the first word loses its s."""
    first, space, rest = what.partition(" ")
    return first.removesuffix("s") + space + rest


_STATUS_WORDS = ("rollouts", "moving", "waiting", "done", "failed", "held")


def _kinds(found: list[Live]) -> dict[str, Counter[str]]:
    kinds: dict[str, Counter[str]] = {}
    for live in found:
        counts = kinds.setdefault(kind_word(live.partition), Counter())
        counts["rollouts"] += 1
        for report in live.plan.groups:
            tally = report.tally
            counts["moving"] += tally.in_flight + tally.soaking
            counts["waiting"] += tally.waiting
            counts["done"] += tally.done
            counts["failed"] += tally.failed
        counts["held"] += _held(live)
    return kinds


def _held(live: Live) -> int:
    """How many targets wait because somebody said so: a brake, or a pause."""
    said = {id(option.verdicts): option.verdicts for option in live.plan.options}
    shut = {
        at
        for at, verdicts in said.items()
        if any(each.gate in _BRAKES and each.outcome is not Outcome.PASS for each in verdicts)
    }
    waiting = (i for i, state in enumerate(live.plan.states) if state is State.WAITING)
    return sum(id(live.plan.options[i].verdicts) in shut for i in waiting)


_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN, Gate.RUNNING))


def needs(found: list[Live]) -> dict[str, int]:
    """What only a person can do: approvals to give, failures to look at."""
    approvals = {
        (live.partition, verdict.facts[0])
        for live in found
        for option in live.plan.options
        for verdict in option.verdicts
        if verdict.gate is Gate.APPROVAL and verdict.outcome is not Outcome.PASS
    }
    failures = sum(live.plan.summary in (Summary.FAILED, Summary.ABORTED) for live in found)
    return {"approvals": len(approvals), "failures": failures}


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "rollouts": ("tidegate.cli.rollouts:get_rollouts", "Rollouts and their progress"),
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
        "holds": ("tidegate.cli.rollouts:get_holds", "Holds, until they are removed"),
        "freezes": ("tidegate.cli.rollouts:get_freezes", "Times at which nothing starts"),
        "blocks": ("tidegate.cli.rollouts:get_blocks", "Revisions that start nowhere"),
        "expedites": ("tidegate.cli.rollouts:get_expedites", "Versions that skip soak and windows"),
        "pins": (
            "tidegate.kinds.integrations.cli.pin_list:get_pins",
            "Pinned targets and shards, and why",
        ),
        "claims": ("tidegate.cli.rollouts:get_claims", "Holders of budgets and mutexes"),
    },
    examples="""
    tidegate get rollouts
    tidegate get rollouts -o json
    tidegate get shards examples/app-interface
    tidegate get clusters --org o-payments
    tidegate get holds
    tidegate get freezes -o wide
    tidegate get claims                  who holds what of budgets and mutexes
    """,
)
def get() -> None:
    """List rollouts, shards, clusters, promotions, brakes or claims."""


def _getter(what: str, text: str) -> click.Command:
    """The command that lists one kind of things."""

    @click.command(cls=Command, examples=f"tidegate get {what}", help=text)
    @click.argument("name", required=False)
    @database_option
    @click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
    @click.option("-w", "--watch", is_flag=True, help="Keep showing it.")
    @click.option("--no-headers", is_flag=True, help="Leave the head of the table out.")
    @color_option
    def getting(
        name: str | None, database: str, output: str, watch: bool, no_headers: bool, color: str
    ) -> None:
        with opened(database) as store:
            for _ in again(watch, WATCH_S):
                if what == "rollouts":
                    found = [find_rollout(store, name)] if name else rollouts(store)
                    _list(found, output, no_headers, wants_colour(color))
                else:
                    from tidegate.cli.brake_list import list_brakes

                    list_brakes(store, what, name, output, no_headers)

    return getting


get_rollouts = _getter("rollouts", "List rollouts and their progress.")
get_holds = _getter("holds", "List holds.")
get_freezes = _getter("freezes", "List the times at which nothing starts.")
get_blocks = _getter("blocks", "List the revisions that start nowhere.")
get_expedites = _getter("expedites", "List the versions that skip soak and windows.")
get_claims = _getter("claims", "List the holders of budgets and mutexes.")


def _list(found: list[Live], output: str, no_headers: bool, colour: bool) -> None:
    if output == "name":
        for live in found:
            click.echo(f"rollout/{live.partition}")
        return
    if output in ("json", "yaml"):
        emit({"kind": "RolloutList", "items": [_item(live) for live in found]}, output)
        return
    head: tuple[str, ...] = ("NAME", "STATUS", "REVISION", "DONE", "FAILED", "NEXT")
    rows = [_row(live) for live in found]
    if output == "wide":
        head += ("STRATEGY", "LAST GOOD")
        rows = [
            (*row, live.world.strategy.type.value, live.world.rollout.last_good or "")
            for row, live in zip(rows, found, strict=True)
        ]
    for line in layout(head, rows, terminal_width(), headed=not no_headers):
        say(line, colour)


def _row(live: Live) -> tuple[str, ...]:
    tallies = [report.tally for report in live.plan.groups]
    done, counted = sum(t.done for t in tallies), sum(t.counted for t in tallies)
    recheck = live.plan.recheck_at
    return (
        live.partition,
        live.plan.summary.value,
        live.plan.course.revision or "",
        f"{done}/{counted}",
        str(sum(t.failed for t in tallies)),
        format_age(recheck - live.now) if recheck is not None else "",
    )


def _item(live: Live) -> dict[str, Any]:
    answer = answer_rollout(live.partition, live.world, live.plan, live.now)
    return {key: answer[key] for key in ("id", "summary", "breached", "recheckAfter", "groups")}


@click.command(
    cls=Command,
    examples="""
    tidegate show rollout/simulated/demo
    tidegate show shard/terraform-resources/ter-int-dev --bundle examples/app-interface
    """,
)
@click.argument("name")
@settings_options(
    "database", "color", "bundle", "revision", "image", "parameters", "kubeconfig", "contexts",
    "pods", "registry", "registryAuth", "prometheus", "runs.through", "runs.port",
    "runs.prometheus", "runs.clusterLabel",
)  # fmt: skip
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def show(name: str, merged: Merged, output: str) -> None:
    """Show one thing in full.

    Of a rollout: groups, targets, and the last events. Of a shard: declared and running image,
    since when, its pin, and how its last run ended.
    """
    settings = merged.settings()
    if name.startswith("shard/"):
        from tidegate.kinds.integrations.cli.estate import Asked
        from tidegate.kinds.integrations.cli.shards import show_shard

        show_shard(Asked(None, merged, {}), name, output, wants_colour(settings.color))
        return
    with opened(settings.database) as store:
        live = find_rollout(store, name)
        entries = list(store.read(live.partition))[-HISTORY:]
        stopped = stopped_by(store, live)
    if output != "table":
        emit(answer_rollout(live.partition, live.world, live.plan, live.now), output)
        return
    width, colour = terminal_width(), wants_colour(settings.color)
    lines = [f"{live.partition}  {headline(live.world, live.plan)}"]
    lines += [f"stopped by: {stopped}", ""] if stopped else [""]
    lines += [*layout(GROUP_HEAD, group_rows(live.world, live.plan), width), ""]
    lines += [*layout(TARGET_HEAD, target_rows(live.world, live.plan, live.now), width), ""]
    rows = [(str(e.seq), format_second(e.at), e.actor, e.kind, e.target or "-") for e in entries]
    lines += layout(("SEQ", "AT", "BY", "WHAT", "TARGET"), rows, width)
    for line in lines:
        say(line, colour)
