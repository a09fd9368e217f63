"""`tidegate policy`: the upgrade policies of clusters, which are labels of their subscriptions."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, relabel, writing_options
from tidegate.kinds.upgrades.cli.owners.tenancy import (
    Declared,
    Tenant,
    listed_items,
    read_org,
    tenant_options,
)
from tidegate.kinds.upgrades.core.labels.label_edit import (
    APPROVALS,
    BLOCKED,
    CLUSTER_LABELS,
    Change,
    Wanted,
    edits_of,
    replacing,
)
from tidegate.kinds.upgrades.core.world import Cluster
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

_EXAMPLES = """
tidegate upgrades policy get                                       every policy of your organisation
tidegate upgrades policy set pay-prod-1 --soak-days 5 --sector prod
tidegate upgrades policy get -o yaml > p.yaml; edit p.yaml; tidegate upgrades policy set -f p.yaml
tidegate upgrades policy remove pay-old-1 --dry-run
tidegate upgrades policy sync --bundle app-interface --dry-run      what a bundle declares
"""


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.policy:get",
            "Show the upgrade policies of clusters",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.policy:set_",
            "Set parts of an upgrade policy, or a whole file",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.owners.policy:remove",
            "Remove upgrade policies",
        ),
        "sync": (
            "tidegate.kinds.upgrades.cli.owners.policy_sync:sync",
            "Write the upgrade policies of a bundle into labels",
        ),
    },
    examples=_EXAMPLES,
)
def policy() -> None:
    """Upgrade policies of clusters, declared in labels, with the diff of what changes."""


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades policy get
    tidegate upgrades policy get 'pay-*' -o yaml > policies.yaml
    tidegate upgrades policy get --all                     clusters without a policy, too
    """,
)
@click.argument("names", metavar="[CLUSTER]...", nargs=-1)
@click.option("--all", "bare_too", is_flag=True, help="Clusters without an upgrade policy, too.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, names: tuple[str, ...], bare_too: bool, output: str) -> None:
    """Show the upgrade policies of clusters; -o json or yaml prints what `policy set -f` reads.

    A CLUSTER is named by its name, its id, its external id or a pattern with * and ?.
    """
    declared = asyncio.run(read_org(tenant))
    clusters = declared.clusters(names, bare_too=bare_too)
    if output != "table":
        emit([_document(declared, each) for each in clusters if each.labels or names], output)
        return
    _print(declared, clusters)


def _document(declared: Declared, cluster: Cluster) -> dict[str, Any]:
    """A policy; with the subscription where the name is that of several."""
    from tidegate.kinds.upgrades.wire.labels_doc import policy_document

    alone = declared.holder(cluster).called == cluster.name
    return policy_document(cluster.name, cluster.labels, "" if alone else cluster.subscribed_as)


_COLUMNS = {
    "SOAK": "soak-days",
    "SECTOR": "sector",
    "SCHEDULE": "schedule",
    "WORKLOADS": "workloads",
    "MUTEXES": "mutexes",
    "BLOCKED": BLOCKED,
}


def _print(declared: Declared, clusters: Iterable[Cluster]) -> None:
    several = list(clusters)
    wrong = _mistakes(declared)
    head = ["CLUSTER", "VERSION", *_COLUMNS]
    rows = [
        [declared.holder(each).called, each.version]
        + [each.labels.get(label, "") or "-" for label in _COLUMNS.values()]
        for each in several
    ]
    for row, each in zip(rows, several, strict=True):
        if zone := each.labels.get("schedule-timezone", ""):
            row[head.index("SCHEDULE")] += f" ({zone})"
    # A column in which nobody has anything only takes room.
    used = [at for at, name in enumerate(head) if at < 5 or any(row[at] != "-" for row in rows)]
    table = [tuple(row[at] for at in used) for row in rows]
    for line in layout(tuple(head[at] for at in used), table, terminal_width()):
        click.echo(line)
    for each in several:
        for text in wrong.get(each.subscribed_as, ()):
            click.echo(f"warning: {declared.holder(each).text()}: {text}", err=True)
    if not several:
        click.echo(f"no cluster of {declared.org.id} has a policy; --all shows all", err=True)


def _mistakes(declared: Declared) -> dict[str, list[str]]:
    """What the service complains about, by subscription."""
    from tidegate.kinds.upgrades.core.rules.fleet import gather

    return {
        member.cluster.subscribed_as: [each.text() for each in member.complaints]
        for fleet in gather(declared.world, declared.world.now)
        for member in fleet.members
    }


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades policy set pay-prod-1 --soak-days 5 --schedule "0 9 * * 1-4"
    tidegate upgrades policy set 'pay-stage-*' --mutexes pay-stage --sector stage --dry-run
    tidegate upgrades policy set pay-prod-1 --blocked-versions ""        takes one part away
    tidegate upgrades policy set -f policies.yaml                        - reads stdin
    tidegate upgrades policy set -f policies.yaml --replace            exactly that, nothing besides
    """,
)
@click.argument("names", metavar="[CLUSTER]...", nargs=-1)
@click.option(
    "-f", "--file", metavar="FILE", help="Upgrade policies, in JSON or YAML; - reads stdin."
)
@click.option("--soak-days", metavar="DAYS", help="Days a version runs elsewhere first; 0: canary.")
@click.option("--workloads", multiple=True, metavar="NAMES", help="What runs on it.")
@click.option(
    "--schedule", metavar="CRON", help="When upgrades may start; or weekdays (Mon-Thu), anytime."
)
@click.option("--schedule-timezone", metavar="ZONE", help="Of the schedule: Europe/Berlin.")
@click.option("--sector", metavar="NAME", help="Which sector it is in.")
@click.option("--mutexes", multiple=True, metavar="NAMES", help="What it alone has while upgraded.")
@click.option(
    "--blocked-versions", multiple=True, metavar="PATTERNS", help="Versions it never goes to (RE2)."
)
@click.option(
    "--version-gate-approvals",
    multiple=True,
    metavar="GATES",
    help="Gates the service agrees to: ocp, sts, ingress or whole labels; none for none.",
)
@click.option("--replace", is_flag=True, help="Remove every part that is not named.")
@writing_options
@tenant_options
def set_(
    tenant: Tenant,
    names: tuple[str, ...],
    file: str | None,
    replace: bool,
    manner: Manner,
    **flags: Any,
) -> None:
    """Set the named parts of upgrade policies; all else is unchanged.

    Separate lists by commas, or repeat the flag; an empty value removes a part. A file
    is what `policy get -o yaml` prints. Values are checked by the rules of the service; invalid
    ones are not written.
    """
    wanted = dict(_flagged(flags))
    if (file is None) == (not names):
        raise click.UsageError("which policies? name clusters, or a file with -f")
    if file is not None and wanted:
        raise click.UsageError("-f says what is set; leave the other flags out")
    if names and not wanted and not replace:
        raise click.UsageError("what is to be set? --soak-days, --schedule, --workloads, …")
    asked = _from_file(file) if file is not None else [(name, "", wanted) for name in names]
    relabel(tenant, lambda declared: _changes(declared, asked, replace), manner)


Asked = tuple[str, str, Wanted]
"""A cluster by name or subscription, where that stands in a file, and what is asked for."""


def _flagged(flags: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The labels that flags name."""
    from tidegate.kinds.upgrades.wire.labels_doc import PRESETS

    for flag, value in flags.items():
        label = flag.replace("_", "-")
        if isinstance(value, tuple):
            if value:
                yield label, ",".join(_items(label, value))
        elif value is not None:
            text = value.strip()
            if label == "schedule" and text in PRESETS:
                told = "Monday to Thursday at any time" if text == "weekdays" else "at any time"
                click.echo(f'{text}: "{PRESETS[text]}", {told}, in UTC or its zone', err=True)
                text = PRESETS[text]
            yield label, text


def _items(label: str, texts: Iterable[str]) -> list[str]:
    """The items of a list, each once; gates by their short names, too."""
    from tidegate.kinds.upgrades.core.gates_ahead import approvals

    items = listed_items(texts)
    return approvals(items) if label == APPROVALS else items


def _from_file(file: str) -> list[Asked]:
    from tidegate.documents.files import read_as
    from tidegate.kinds.upgrades.wire.labels_doc import read_policies

    found, document = read_as(file, read_policies)
    return [
        (each.subscription or each.name, document.where(each.path), each.wanted) for each in found
    ]


def _changes(declared: Declared, asked: Iterable[Asked], replace: bool) -> Iterator[Change]:
    """The change of each cluster; UserError if a name means none, several, or one twice."""
    problems: list[Problem] = []
    seen: set[str] = set()
    found: list[tuple[Cluster, Wanted]] = []
    for name, where, wanted in asked:
        try:
            clusters = declared.clusters([name])
        except UserError as error:
            problems += [Problem(": ".join(filter(None, (where, each.path))), each.message,
                                 each.remedy) for each in error.problems]  # fmt: skip
            continue
        for cluster in clusters:
            if cluster.subscribed_as in seen and where:
                what = f"{declared.holder(cluster).text()} stands there twice"
                problems.append(Problem(where, what, "keep one of them"))
            elif cluster.subscribed_as not in seen:
                found.append((cluster, wanted))
            seen.add(cluster.subscribed_as)
    if problems:
        raise UserError(tuple(problems))
    for cluster, wanted in found:
        whole = replacing(cluster.labels, wanted, CLUSTER_LABELS) if replace else wanted
        yield Change(declared.holder(cluster), edits_of(cluster.labels, whole))


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades policy remove pay-old-1
    tidegate upgrades policy remove 'pay-old-*' --all --dry-run
    """,
)
@click.argument("names", metavar="CLUSTER...", nargs=-1, required=True)
@click.option("--all", "strange_too", is_flag=True, help="Unknown labels, too.")
@writing_options
@tenant_options
def remove(tenant: Tenant, names: tuple[str, ...], strange_too: bool, manner: Manner) -> None:
    """Remove the upgrade policies of clusters: they are not upgraded until they have one again.

    An upgrade in progress continues.
    """

    def plan(declared: Declared) -> Iterator[Change]:
        clusters = declared.clusters(names)
        problems: list[Problem] = []
        for each in clusters:
            strange = sorted(each.labels.keys() - set(CLUSTER_LABELS))
            if strange and not strange_too:
                what = f"{', '.join(strange)} would stay, and any such label asks for a policy"
                where = declared.holder(each).text()
                problems.append(Problem(where, what, "--all takes it away, too"))
        if problems:
            raise UserError(tuple(problems))
        for each in clusters:
            gone = dict.fromkeys(each.labels)
            yield Change(declared.holder(each), edits_of(each.labels, gone))

    relabel(tenant, plan, manner)
