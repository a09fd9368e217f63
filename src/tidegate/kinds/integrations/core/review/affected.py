"""Which shards a change affects, with which image each is tried before and after, and why.

A shard is affected if what it would be handed differs; if it is pinned or let go; if a file changed
that its integration says it reads; or if the tag changed that the repository gives to all who name
no image. The file of an account is the business of that account's shard alone, as long as nothing
else changed.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.kinds.integrations.core.review.effect import Effect, Effects, Fate, Key
from tidegate.kinds.integrations.core.sharding.model import Check, Integration
from tidegate.kinds.integrations.core.sharding.shards import Inventories
from tidegate.kinds.integrations.core.sharding.strategies import ALIASES, STRATEGIES
from tidegate.kinds.integrations.core.waves.rehearsal import dry_variables
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Piece,
    manifest_of,
    pieces_of,
)
from tidegate.kinds.integrations.core.workloads.workloads import DEFAULTS, image_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.registry.image import image_named, revision_of

# Every integration says it reads these; they tell how it runs, and that is compared already.
INTEGRATIONS = "/app-sre/integration-1.yml"
# More reasons than this tell nothing new.
REASONS_MAX = 3
# What all fields of a shard's own container begin with.
_CONTAINER = "spec.template.spec.containers[int]."
Files = Mapping[str, frozenset[str]]
_Slot = tuple[str, str, int | None]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """What is run on one side of a change: once, and changing nothing."""

    image: str  # its whole name
    revision: str  # what people call it
    # As they are written, to be split as a shell does.
    arguments: str = ""
    variables: dict[str, str] = {}
    # Variables whose value is a secret, or the cluster's: the runner must have them.
    secrets: tuple[str, ...] = ()
    # The workload it stands for; None: nothing of it is managed.
    piece: Piece | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One shard that is affected."""

    integration: str
    # `terraform-resources/ter-int-dev`, with the number of a sub-shard behind it.
    shard: str
    environment: str
    head: Input
    # None: there was no such shard, so there is nothing to compare it with.
    base: Input | None
    why: tuple[str, ...]
    order: int = 0
    # Whether anything but the data it reads differs.
    differs: bool = True

    @property
    def moves_image(self) -> bool:
        """Whether it is tried with another image than before; if not, the data changed."""
        return self.base is not None and self.base.image != self.head.image


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """One shard that is affected and not tried."""

    integration: str
    shard: str
    environment: str
    why: str


class Affected(msgspec.Struct, frozen=True):
    """Everything a change affects."""

    cases: tuple[Case, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def by_image(self) -> dict[tuple[str, str], tuple[Case, ...]]:
        """Cases by integration and image, in the order in which they are to be tried."""
        found: dict[tuple[str, str], list[Case]] = {}
        for case in self.cases:
            found.setdefault((case.integration, case.head.revision), []).append(case)
        return {key: tuple(some) for key, some in found.items()}


def without_data(affected: Affected) -> Affected:
    """What is left for a runner that has data of its own: it cannot tell old ones from new."""
    away = (
        Skipped(
            integration=case.integration,
            shard=case.shard,
            environment=case.environment,
            why="only its data changed, and a Job reads those that are live",
        )
        for case in affected.cases
        if not case.differs
    )
    kept = tuple(case for case in affected.cases if case.differs)
    return Affected(kept, (*affected.skipped, *away))


class CheckedSide(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a change, as far as it matters here."""

    estate: Estate
    integrations: tuple[Integration, ...]
    inventories: Inventories = {}
    # What the repository gives to all who name no image; empty: nothing.
    tag: str = ""

    @property
    def repository(self) -> str:
        """Where images come from that no place says anything of."""
        return self.estate.site.parameters.get("IMAGE", DEFAULTS["IMAGE"])


def affected_by(base: CheckedSide, head: CheckedSide, effects: Effects, changed: Files) -> Affected:
    """Every shard a change affects; `changed` has the schemas of each file, before and after."""
    cases: list[Case] = []
    skipped: list[Skipped] = []
    before = {each.name: each for each in base.integrations}
    known = {each.key: each for each in effects.effects}
    for integration in head.integrations:
        prior = before.get(integration.name)
        grounds = _Grounds(integration, prior, base, head, changed)
        every = [*_managed(integration, grounds, known), *_unmanaged(integration, grounds)]
        for found in every:
            if isinstance(found, Case):
                cases.append(found)
            else:
                skipped.append(found)
    # One that is another kind of object now is still there.
    names = {(piece.cluster, piece.namespace, piece.name) for piece in head.estate.pieces()}
    gone = (each for each in effects.of(Fate.DELETED) if each.unit)
    skipped += (_gone(e) for e in gone if (e.cluster, e.namespace, e.name) not in names)
    cases.sort(key=_turn)
    return Affected(tuple(cases), tuple(skipped))


def _turn(case: Case) -> tuple[int, str, str, str, str]:
    """When a case is tried: those that say so first, then each image of each integration."""
    return case.order, case.integration, case.head.revision, case.environment, case.shard


class _Grounds:
    """Why shards of one integration are affected, but for what each of them would be handed."""

    def __init__(
        self,
        integration: Integration,
        prior: Integration | None,
        base: CheckedSide,
        head: CheckedSide,
        changed: Files,
    ) -> None:
        self.base, self.head, self.prior = base, head, prior
        self.check = integration.check or _NOTHING_SAID
        reads = {*integration.schemas, *(prior.schemas if prior else ())} - {INTEGRATIONS}
        self.files = [path for path, schemas in changed.items() if schemas & reads]
        self.all: list[str] = ["pr_check.always_run"] if self.check.always else []
        if integration.check is not None and (prior is None or prior.check != integration.check):
            self.all.append("its pr_check changed")
        if _takes_tag(integration) and not self.check.image_ref and head.tag != base.tag:
            self.all.append(f".env: {base.tag or 'no tag'} → {head.tag or 'no tag'}")

    def of_place(self, place: ManagedPlace) -> dict[str, list[str]]:
        """The files that matter to each shard, by its key; those under "" matter to all."""
        strategy = place.managed.sharding.strategy
        row = STRATEGIES.get(ALIASES.get(strategy, strategy))
        found: dict[str, list[str]] = {}
        for view in (self.base, self.head):
            for key in view.inventories.get(row.inventory, ()) if row is not None else ():
                if key.file in self.files and self.check.affected_only:
                    found.setdefault(key.key, []).append(key.file)
        own = {path for paths in found.values() for path in paths}
        if rest := [path for path in self.files if path not in own]:
            return {"": rest + sorted(own)}
        return found


_NOTHING_SAID = Check(command="")


def _managed(
    integration: Integration, grounds: _Grounds, effects: Mapping[Key, Effect]
) -> Iterator[Case | Skipped]:
    old = _slots(grounds.base.estate, integration.name)
    for place in grounds.head.estate.places:
        if place.integration.name != integration.name:
            continue
        files = grounds.of_place(place)
        for piece in pieces_of(place):
            assert piece.shard is not None
            mine = files.get("", []) + (files.get(piece.shard.key, []) if piece.shard.key else [])
            before = old.get(_slot(piece))
            stated = _stated(effects.get(piece.key)) or _pin(before, piece)
            own = [*stated, *grounds.all]
            data = [f"changed: {path}" for path in dict.fromkeys(mine)]
            if own or data:
                found = _case(integration, piece, before, grounds, own + data)
                yield found if own else _only_data(found)


def _case(
    integration: Integration,
    piece: Piece,
    before: Piece | None,
    grounds: _Grounds,
    why: list[str],
) -> Case | Skipped:
    assert piece.place is not None
    assert piece.shard is not None
    environment = piece.place.managed.namespace.environment
    shard = _name(piece)
    override = piece.shard.override
    reason = "pr_check.disabled" if grounds.check.disabled else ""
    reason = "stopped by its override" if override is not None and override.disabled else reason
    if reason:
        return Skipped(
            integration=integration.name, shard=shard, environment=environment, why=reason
        )
    prior = grounds.prior or integration
    return Case(
        integration=integration.name,
        shard=shard,
        environment=environment,
        head=_input(piece, integration, grounds.head),
        base=_input(before, prior, grounds.base) if before is not None else None,
        why=_few(why),
        order=grounds.check.order,
    )


def _only_data(found: Case | Skipped) -> Case | Skipped:
    if isinstance(found, Skipped):
        return found
    return msgspec.structs.replace(found, differs=False)


def _unmanaged(integration: Integration, grounds: _Grounds) -> Iterator[Case | Skipped]:
    """One that runs nowhere by us, and is tried on merge requests all the same."""
    if integration.managed or integration.check is None:
        return
    why = [*grounds.all, *(f"changed: {path}" for path in grounds.files)]
    if not why:
        return
    name = integration.name
    if integration.check.disabled:
        yield Skipped(integration=name, shard=name, environment="", why="pr_check.disabled")
        return
    prior = grounds.prior.check if grounds.prior is not None else None
    if prior is not None and not (prior.image_ref or grounds.base.tag):
        prior = None  # there was nothing to try it with
    yield Case(
        integration=name,
        shard=name,
        environment="",
        head=_command(integration.check, grounds.head, integration.where),
        base=_command(prior, grounds.base, integration.where) if prior is not None else None,
        why=_few(why),
        order=integration.check.order,
    )


def _command(check: Check, view: CheckedSide, where: str) -> Input:
    name, _, arguments = check.command.strip().partition(" ")
    revision = check.image_ref or view.tag
    if not revision:
        remedy = "write pr_check.imageRef, or RECONCILE_IMAGE_TAG in the .env of the repository"
        raise UserError((Problem(where, f"no image is known to check {name} with", remedy),))
    variables = {"INTEGRATION_NAME": name, "DRY_RUN": "--dry-run", "RUN_ONCE": "true"}
    if arguments:
        variables["INTEGRATION_EXTRA_ARGS"] = arguments.strip()
    return Input(
        image=image_named(revision, view.repository),
        revision=revision,
        arguments=arguments.strip(),
        variables=variables,
    )


def _input(piece: Piece, integration: Integration, view: CheckedSide) -> Input:
    assert piece.place is not None
    assert piece.shard is not None
    image = _image(piece, integration, view.tag)
    revision = revision_of(image, piece.place.repository)
    stated = dry_variables(manifest_of(piece, view.estate.site, revision=revision))
    return Input(
        image=image,
        revision=revision,
        arguments=piece.shard.arguments,
        variables={each["name"]: str(each["value"]) for each in stated if "value" in each},
        secrets=tuple(each["name"] for each in stated if "valueFrom" in each),
        piece=piece,
    )


def _image(piece: Piece, integration: Integration, tag: str) -> str:
    """What a shard is tried with: its own, its place's, or what the repository gives to all."""
    place, shard = piece.place, piece.shard
    assert place is not None
    assert shard is not None
    own = shard.override is not None and shard.override.image_ref
    given = (integration.check.image_ref or tag) if integration.check is not None else ""
    if own or not given or not _takes_tag(integration):
        return image_of(shard, place.managed, place.ground)
    return image_named(given, place.repository)


def _takes_tag(integration: Integration) -> bool:
    """Whether an integration is tried with the repository's tag: it names no image anywhere."""
    named = any(managed.spec.get("imageRef") for managed in integration.managed)
    return integration.check is not None and not named


def _pin(before: Piece | None, piece: Piece) -> list[str]:
    """Whether a shard is pinned to an image, or let go: though nothing restarts, it is tried."""
    old, new = (_own_image(each) for each in (before, piece))
    if old == new or before is None:
        return []
    return [f"pinned to {new}" if new else f"no longer pinned to {old}"]


def _own_image(piece: Piece | None) -> str:
    override = piece.shard.override if piece is not None and piece.shard is not None else None
    return (override.image_ref if override is not None else None) or ""


def _stated(effect: Effect | None) -> list[str]:
    """What becomes of a workload, in words."""
    if effect is None:
        return []
    if effect.fate is not Fate.CHANGED:
        return [effect.fate.value]
    stated = [f"image {effect.before} → {effect.after}"] if effect.moves_image else []
    fields = [each.field.removeprefix(_CONTAINER) for each in effect.others]
    return stated + ([f"changed: {', '.join(_few(fields))}"] if fields else [])


def _few(texts: Iterable[str]) -> tuple[str, ...]:
    every = tuple(dict.fromkeys(texts))
    if len(every) <= REASONS_MAX:
        return every
    return (*every[:REASONS_MAX], f"and {len(every) - REASONS_MAX} more")


def _slots(estate: Estate, integration: str) -> dict[_Slot, Piece]:
    """Workloads by what they are for, whatever kind of object they are."""
    places = (place for place in estate.places if place.integration.name == integration)
    return {_slot(piece): piece for place in places for piece in pieces_of(place)}


def _slot(piece: Piece) -> _Slot:
    assert piece.place is not None
    assert piece.shard is not None
    return piece.place.name, piece.unit, piece.shard.index


def _name(piece: Piece) -> str:
    """What a shard is called, with the number of a sub-shard."""
    shard = piece.shard
    assert shard is not None
    whole = shard.index is None or not shard.key
    return piece.unit if whole else f"{piece.unit}-{shard.index}"


def _gone(effect: Effect) -> Skipped:
    return Skipped(
        integration=effect.integration,
        shard=effect.unit,
        environment=effect.environment,
        why="deleted: there is nothing to try",
    )
