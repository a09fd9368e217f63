"""Every kind there is, one line each: its rules, how it is started, its reasons and its facts.

Only this module and `wiring` know all kinds; everything is imported when it is asked for.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.gates.scope import kind_word
from tidegate.model.reason import Reason

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.engine.kind import Rules
    from tidegate.engine.started import Started
    from tidegate.kinds.rollouts.simulated.run import SimulatedStep
    from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
    from tidegate.settings.settings import Settings

# Where the rules of each kind are, by the first part of the names of its partitions; any other name
# is that of a fleet whose targets are rolled out to.
_RULES = {
    "channels": "tidegate.kinds.promotions.channel_rules:ChannelRules",
    "policies": "tidegate.kinds.policies.rules:PolicyRules",
    "promotions": "tidegate.kinds.promotions.rules:PromotionRules",
    "upgrades": "tidegate.kinds.upgrades.rules:UpgradeRules",
}
_ROLLOUTS = "tidegate.kinds.rollouts.rules:RolloutRules"
# Images of an integration move through `integrations/NAME@CLUSTER.NAMESPACE`; everything else of
# its objects is decided in `integrations/CLUSTER.NAMESPACE`.
_NAMESPACES = "tidegate.kinds.integrations.rules:NamespaceRules"


@cache
def _rules_at(where: str) -> "Rules[Any, Any, Any]":
    module, _, name = where.partition(":")
    made: Rules[Any, Any, Any] = getattr(import_module(module), name)()
    return made


def rules_of(partition: str) -> "Rules[Any, Any, Any]":
    """The rules by which a partition is decided."""
    if kind_word(partition) == "integrations" and "@" not in partition:
        return _rules_at(_NAMESPACES)
    return _rules_at(_RULES.get(kind_word(partition), _ROLLOUTS))


# What shows, to the person who is asked to approve it, what a revision of a kind changes.
_CHANGES = {"policies": "tidegate.kinds.policies.cli.change:change_lines"}


def change_lines(partition: str, revision: str | None, settings: "Settings") -> list[str]:
    """What a revision changes, in lines; none: its kind has nothing to show."""
    where = _CHANGES.get(kind_word(partition))
    if where is None:
        return []
    module, _, name = where.partition(":")
    found: list[str] = getattr(import_module(module), name)(settings, partition, revision)
    return found


# Every kind that `run` and `serve` can start, one line each.
_STARTS = (
    "tidegate.kinds.rollouts.start:start",
    "tidegate.kinds.integrations.start:start",
    "tidegate.kinds.upgrades.start:start",
    "tidegate.kinds.promotions.start:start",
    "tidegate.kinds.policies.start:start",
)


def start_kinds(
    settings: "Settings", seed: int = 0, *, allow_mass_delete: bool = False
) -> "list[Started]":
    """The kinds that the settings ask for; nothing outside is asked yet."""
    found: list[Started] = []
    for where in _STARTS:
        module, _, name = where.partition(":")
        started = getattr(import_module(module), name)(settings, seed)
        if isinstance(started, list):
            found += started
        elif started is not None:
            found.append(started)
    for each in found:
        each.kind.allow_mass_removal = allow_mass_delete
    return found


# What simulates a new image on the clusters of a bundle, for `simulate DIR`.
_REHEARSAL = "tidegate.kinds.integrations.cli.rehearse:rehearse"


def rehearse_bundle(
    folder: "Path",
    integration: str | None,
    environment: str | None,
    image: str | None,
    behaviour: str | None,
) -> "tuple[Scenario, list[SimulatedStep]]":
    """A rollout of an image by the rules of a bundle, in virtual time, step by step."""
    module, _, name = _REHEARSAL.partition(":")
    rehearse = getattr(import_module(module), name)
    found: tuple[Scenario, list[SimulatedStep]] = rehearse(
        folder, integration, environment, image, behaviour
    )
    return found


def reasons() -> tuple[Reason, ...]:
    """Every reason that a verdict can have, of all kinds and of the brakes."""
    from tidegate.kinds.integrations.core.reasons import ObjectReason
    from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
    from tidegate.kinds.promotions.core.reasons import PromotionReason
    from tidegate.kinds.promotions.core.requests.reasons import RequestReason
    from tidegate.kinds.rollouts.core.reasons import RolloutReason
    from tidegate.kinds.upgrades.core.reasons import UPGRADE_REASONS
    from tidegate.model.brake_reasons import BrakeReason
    from tidegate.model.progress_reasons import ProgressReason

    tables: tuple[type[Reason], ...] = (
        ProgressReason,
        RolloutReason,
        BrakeReason,
        PromotionReason,
        ChannelReason,
        RequestReason,
        ObjectReason,
        *UPGRADE_REASONS,
    )
    return tuple(reason for table in tables for reason in table)


# Kinds with facts of their own; importing these registers them.
_FACTS = (
    "tidegate.engine.plain.state",
    "tidegate.access.sessions",
    "tidegate.access.tokens",
    "tidegate.journal.facts",
    "tidegate.kinds.integrations.core.objects.facts",
    "tidegate.kinds.promotions.core.channels.journal.facts",
    "tidegate.kinds.promotions.core.journal.facts",
    "tidegate.kinds.rollouts.core.journal.facts",
    "tidegate.kinds.upgrades.core.journal.facts",
)


def fact_tags() -> tuple[str, ...]:
    """The tags of the facts of every kind; from here on entries of all of them can be read."""
    from tidegate.journal.fact import tags

    for module in _FACTS:
        import_module(module)
    # In an order that does not depend on which module was imported first.
    return tuple(sorted(tags("tidegate.")))
