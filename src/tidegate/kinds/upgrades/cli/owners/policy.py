"""`tidegate policy`: the upgrade policies of clusters, which are labels of their subscriptions."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.kinds.upgrades.app.owners.organisation import listed_items
from tidegate.kinds.upgrades.app.owners.policies import (
    UpgradePolicyList,
    WantedPolicy,
    list_policies,
    remove_policies,
    set_policies,
)
from tidegate.kinds.upgrades.cli.owners.access import OwnerAccess, organisation_options
from tidegate.kinds.upgrades.cli.owners.label_change import (
    LabelWish,
    WriteOptions,
    change_labels,
    request_options,
)
from tidegate.kinds.upgrades.cli.text.label_changes import show_warnings
from tidegate.kinds.upgrades.cli.text.policies import policy_lines, policy_warnings
from tidegate.kinds.upgrades.core.labels.label_edit import APPROVALS, CLUSTER_LABELS

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
@click.option(
    "--all", "unlabelled", is_flag=True, help="List clusters without an upgrade policy, too."
)
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@organisation_options
def get(access: OwnerAccess, names: tuple[str, ...], unlabelled: bool, output: str) -> None:
    """Show the upgrade policies of clusters; -o json or yaml prints what `policy set -f` reads.

    A CLUSTER is named by its name, its id, its external id or a pattern with * and ?.
    """
    service = access.service()
    if service is None:
        found = list_policies(asyncio.run(access.read()), names, unlabelled=unlabelled)
    else:
        shown = "true" if unlabelled else ""
        found = service.get("upgrade-policies", UpgradePolicyList, cluster=names, all=shown)
    show_warnings(found.warnings)
    if output != "table":
        emit(found, output)
        return
    for line in policy_lines(found, terminal_width()):
        click.echo(line)
    show_warnings(policy_warnings(found))
    if not found.clusters:
        click.echo(f"no cluster of {found.org} has an upgrade policy; --all shows all", err=True)


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
@click.option("--workloads", multiple=True, metavar="NAMES", help="The workloads of the cluster.")
@click.option(
    "--schedule", metavar="CRON", help="When upgrades may start; or weekdays (Mon-Thu), anytime."
)
@click.option(
    "--schedule-timezone", metavar="ZONE", help="The time zone of the schedule: Europe/Berlin."
)
@click.option("--sector", metavar="NAME", help="The sector of the cluster.")
@click.option(
    "--mutexes",
    multiple=True,
    metavar="NAMES",
    help="The mutexes that the cluster holds while it is upgraded.",
)
@click.option(
    "--blocked-versions",
    multiple=True,
    metavar="PATTERNS",
    help="Patterns (RE2) of versions that the cluster never gets.",
)
@click.option(
    "--version-gate-approvals",
    multiple=True,
    metavar="GATES",
    help="Gates the service agrees to: ocp, sts, ingress or whole labels; none for none.",
)
@click.option("--replace", is_flag=True, help="Remove every part that is not named.")
@request_options
@organisation_options
def set_(
    access: OwnerAccess,
    names: tuple[str, ...],
    file: str | None,
    replace: bool,
    options: WriteOptions,
    **flags: Any,
) -> None:
    """Set the named parts of upgrade policies; all else is unchanged.

    Separate lists by commas, or repeat the flag; an empty value removes a part. A file
    is what `policy get -o yaml` prints. Values are checked by the rules of the service; invalid
    ones are not written.
    """
    wanted = dict(_flagged(flags))
    if (file is None) == (not names):
        raise click.UsageError("Specify upgrade policies: cluster names, or a file with -f")
    if file is not None and wanted:
        raise click.UsageError("-f names all that is set; leave out the other flags")
    if names and not wanted and not replace:
        raise click.UsageError("Specify what to set: --soak-days, --schedule, --workloads, …")
    every = _from_file(file) if file is not None else [WantedPolicy(e, "", wanted) for e in names]
    wish = LabelWish("policy", {"policies": list(map(_entry, every)), "replace": replace})
    change_labels(access, lambda found: set_policies(found, every, replace=replace), options, wish)


def _entry(wanted: WantedPolicy) -> dict[str, object]:
    """What is asked for of a cluster, as a service reads it."""
    parts: dict[str, dict[str, str | None]] = {"labels": {}, "others": {}}
    for label, value in wanted.labels.items():
        parts["labels" if label in CLUSTER_LABELS else "others"][label] = value
    return {"name": wanted.name, **parts}


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
                when = "Monday to Thursday at any time" if text == "weekdays" else "at any time"
                click.echo(f'{text}: "{PRESETS[text]}", {when}, in UTC or its zone', err=True)
                text = PRESETS[text]
            yield label, text


def _items(label: str, texts: Iterable[str]) -> list[str]:
    """The items of a list, each once; gates by their short names, too."""
    from tidegate.kinds.upgrades.core.gates_ahead import approvals

    items = listed_items(texts)
    return approvals(items) if label == APPROVALS else items


def _from_file(file: str) -> list[WantedPolicy]:
    from tidegate.documents.files import read_as
    from tidegate.kinds.upgrades.wire.labels_doc import read_policies

    found, document = read_as(file, read_policies)
    return [
        WantedPolicy(each.subscription or each.name, document.where(each.path), each.wanted)
        for each in found
    ]


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades policy remove pay-old-1
    tidegate upgrades policy remove 'pay-old-*' --all --dry-run
    """,
)
@click.argument("names", metavar="CLUSTER...", nargs=-1, required=True)
@click.option("--all", "unknown_too", is_flag=True, help="Remove unknown labels, too.")
@request_options
@organisation_options
def remove(
    access: OwnerAccess, names: tuple[str, ...], unknown_too: bool, options: WriteOptions
) -> None:
    """Remove the upgrade policies of clusters: they are not upgraded until they have one again.

    An upgrade in progress continues.
    """
    wish = LabelWish("remove-policy", {"clusters": names, "all": unknown_too})
    change_labels(
        access, lambda found: remove_policies(found, names, unknown_too=unknown_too), options, wish
    )
