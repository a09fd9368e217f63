"""A promotion planned: what every gate says, which lines change, which shards, whose work."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import click
import msgspec

from tidegate import wiring
from tidegate.bundle.section import Bundle
from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.proposing import Offer
from tidegate.edit.edited_tree import EditedTree
from tidegate.edit.edits import Edited
from tidegate.explain.tree import option_lines
from tidegate.forge.port import Forge
from tidegate.git.tree_port import Tree
from tidegate.journal.facts import HandledObject
from tidegate.kinds.integrations.app.comparison import new_errors
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.cli.by_hand import brakes_now, write_down
from tidegate.kinds.integrations.cli.site import site_of
from tidegate.kinds.promotions.app.looking import Look, Seen, look
from tidegate.kinds.promotions.app.proposing import Proposed
from tidegate.kinds.promotions.cli.ground import Ground
from tidegate.kinds.promotions.cli.text import finished, plan_doc, plan_lines
from tidegate.kinds.promotions.core.authors import authors_of
from tidegate.kinds.promotions.core.decide import KIND, Built, decide
from tidegate.kinds.promotions.core.model import SCHEMAS, SHORT, Held, compare_link
from tidegate.kinds.promotions.core.proposal import (
    Facts,
    branch,
    commit_message,
    description,
    title,
)
from tidegate.kinds.promotions.core.reach import Reached, pinned_in, reached_by
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.files.finding import Spot, rewritten, standing
from tidegate.model.errors import StaleError, UserError
from tidegate.model.problem import nearest_or_all
from tidegate.model.verdict import all_pass
from tidegate.settings.settings import Settings
from tidegate.wiring import read_bundle


class Planned:
    """Everything there is to say about one promotion."""

    def __init__(self, ground: Ground, seen: Seen) -> None:
        self.ground, self.seen = ground, seen
        self.world = seen.world
        self.now = wiring.clock().now()
        self.plan = decide(seen.world, self.now)
        self.moved = tuple(action.target for action in self.plan.actions)
        self.versions = dict.fromkeys(self.moved, self.world.version)
        self.edited: dict[str, Edited] = rewritten(
            ground.files, ground.standing.spots, self.versions
        )
        # What waits is shown as well: what it would change is what somebody waits for.
        asked = zip(self.plan.options, self.world.asked(), strict=True)
        self.meant = tuple(
            environment.name
            for option, environment in asked
            if any(each.reason is PromotionReason.PlacesFound for each in option.verdicts)
        )
        self.would = self.edited
        if self.meant != self.moved:
            meant = dict.fromkeys(self.meant, self.world.version)
            self.would = rewritten(ground.files, ground.standing.spots, meant)

    @property
    def waiting(self) -> bool:
        """Whether something that was asked for has to wait, and is not there already."""
        return any(
            not all_pass(option.verdicts) and finished(option) is None
            for option in self.plan.options
        )

    @cached_property
    def changes(self) -> tuple[Held, ...]:
        """The values that change, or would, in the order of environments."""
        return self._changes_in(self.meant)

    def _changes_in(self, environments: tuple[str, ...]) -> tuple[Held, ...]:
        version = self.world.version
        return tuple(
            held
            for held in self.world.held
            if held.environment in environments and held.is_commit and not held.has(version)
        )

    @cached_property
    def facts(self) -> Facts:
        """What there is to say of everything that was asked for."""
        return self._facts_of(self.meant, self.would)

    def _facts_of(self, environments: tuple[str, ...], edited: Mapping[str, Edited]) -> Facts:
        version, changes = self.world.version, self._changes_in(environments)
        held = dict.fromkeys(each.value for each in changes)
        ways = [self.seen.ways[value] for value in held]
        commits = [commit for way in ways for commit in way.brings]
        address = self.ground.public_address
        links = {
            name: compare_link(address, name, version)
            for name in dict.fromkeys(way.name for way in ways if way.name)
            if name != version and compare_link(address, name, version)
        }
        return Facts(
            name=self.world.promotion.name,
            version=version,
            environments=environments,
            edits=changes,
            authors=authors_of(commits),
            links=links,
            reached=self._reached(edited),
            warnings=tuple(self.warnings()),
        )

    def warnings(self) -> Iterator[str]:
        """What is odd and keeps nothing from moving."""
        if self.world.promotion.name == SCHEMAS:
            for name, where in self.pinned:
                yield f"{name} has an image of its own ({where}): it must read the new schemas"
        if self.before.errors and self.would:
            wrong = f"{self.before.errors} errors" if self.before.errors > 1 else "an error"
            yield f"the bundle has {wrong}: shards it concerns are not counted (`validate`)"
        for name in self.meant:
            for wrong in self.ground.standing.unread.get(name, ()):
                yield f"{wrong}: a version that stands there stays as it is"
            values = {held.value: held for held in self.world.moving(name)}
            whole = {self.seen.ways[value].name or value for value in values}
            if len(whole) > 1:
                where = ", ".join(
                    f"{h.value[:SHORT]} in {h.file}:{h.line}" for h in values.values()
                )
                yield f"the places of {name} do not agree: {where}"
        for value in sorted({held.value for held in self.changes}):
            if lost := self.seen.ways[value].loses:
                first = f"{lost[0].subject!r} first"
                yield f"{len(lost)} commits of {value[:SHORT]} would be lost, {first}"

    @cached_property
    def before(self) -> Bundle:
        """The bundle as it is."""
        return read_bundle(self._tree, wiring.bundle_cache())

    @cached_property
    def after(self) -> Bundle:
        """The bundle as it would be, with everything that was asked for."""
        return self._after(self.would)

    def _after(self, edited: Mapping[str, Edited]) -> Bundle:
        root = self.ground.root
        new = {f"{root}{path}": each.data for path, each in edited.items()}
        return read_bundle(EditedTree(self._tree, new), wiring.bundle_cache())

    @cached_property
    def _tree(self) -> Tree:
        return wiring.open_tree(self.ground.folder, self.ground.base)

    @cached_property
    def pinned(self) -> tuple[tuple[str, str], ...]:
        """Every shard with an image of its own, and where that is written."""
        found = pinned_in(estate_in(self.before, site_of(self.ground.settings)))
        return self._located(found)

    def _located(self, pinned: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """With files as the repository calls them, like all others that are named."""
        prefix = self._tree.prefix
        return tuple((name, f"{prefix}{where}") for name, where in pinned)

    def _reached(self, edited: Mapping[str, Edited]) -> tuple[Reached, ...]:
        """The shards that get another image, by environment, and those that keep their own."""
        if not edited:
            return ()
        site = site_of(self.ground.settings)
        after = self.after if edited is self.would else self._after(edited)
        found = reached_by(estate_in(self.before, site), estate_in(after, site))
        return tuple(
            msgspec.structs.replace(each, pinned=self._located(each.pinned)) for each in found
        )

    def check(self) -> None:
        """UserError if the bundle would have errors that it does not have."""
        if not self.would:
            return
        if wrong := new_errors(self.before, self.after):
            raise UserError(wrong, where="the bundle would not be sound any more")

    def files_at(self, base: str) -> dict[str, bytes | None]:
        """What to write on a commit; StaleError if that says other things than were read."""
        files = self.ground.files_at(base)
        there = standing(files, self.world.promotion)
        if _values(there.spots, self.moved) != _values(self.ground.standing.spots, self.moved):
            raise StaleError("the bundle changed what is promoted meanwhile; run the same again")
        made = rewritten(files, there.spots, self.versions)
        return {f"{self.ground.root}{path}": each.data for path, each in made.items()}

    def offer(self, reason: str) -> Offer:
        """The change, as it is offered."""
        facts = self.facts
        if self.moved != self.meant:
            facts = self._facts_of(self.moved, self.edited)
        facts = msgspec.structs.replace(facts, reason=reason)

        async def described(forge: Forge) -> str:
            mentions = {
                author.email: await forge.mention(author.name, author.email)
                for author in facts.authors
            }
            return description(msgspec.structs.replace(facts, mentions=mentions))

        return Offer(
            title=title(facts),
            description=described,
            key=branch(facts),
            files=lambda _, base: self.files_at(base),
            message=commit_message(facts),
        )

    def write_down(self, done: Proposed, reason: str) -> None:
        """Keep in the journal what was offered."""
        where = done.request.url if done.request is not None else done.branch
        objects = [
            HandledObject(f"{KIND}/{name}", "offered", f"{self.world.version} in {where}")
            for name in self.moved
        ]
        write_down(self.ground.settings, f"by-hand/{KIND}", objects, reason)

    def tree(self) -> Iterator[str]:
        """Every gate of every environment that was asked for."""
        for option, environment in zip(self.plan.options, self.world.asked(), strict=True):
            held = dict.fromkeys(each.value[:SHORT] for each in self.world.moving(environment.name))
            at = [f"on {', '.join(held)}"] if held else []
            go = "moves" if environment.name in self.moved else "waits"
            wants = f"wants {self.world.version[:SHORT]}: {go}"
            told = f"{''.join(at)}: there already" if finished(option) else ", ".join((*at, wants))
            yield f"env/{environment.name}  {told}"
            yield from option_lines(option, self.now)

    def show(self, output: str) -> None:
        """Print all of it."""
        if output != "table":
            emit(plan_doc(self), output)
            return
        colour = wants_colour(self.ground.settings.color)
        for line in plan_lines(self, terminal_width()):
            say(line, colour)


def _values(spots: Iterable[Spot], environments: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for spot in spots:
        if spot.held.environment in environments:
            key = spot.held.environment, spot.held.file
            found.setdefault(key, []).append(spot.held.value)
    return found


def plan_promotion(
    settings: Settings,
    *,
    to: tuple[str, ...] = (),
    ref: str = "",
    name: str | None = None,
    base: str = "",
    allow_backward: bool = False,
    no_registry_check: bool = False,
    no_fetch: bool = False,
    of_schemas: bool = False,
) -> Planned:
    """Look at everything, and decide."""
    ground = Ground(settings, name, base, to=to, fetch=not no_fetch, of_schemas=of_schemas)
    known = [each.name for each in ground.promotion.environments]
    for each in to:
        if each not in known:
            raise click.UsageError(f'no environment "{each}"; {nearest_or_all(each, known)}')
    asked = Look(
        promotion=ground.promotion,
        held=ground.standing.held,
        missing=ground.standing.missing,
        unread=frozenset(ground.standing.unread),
        to=to,
        ref=ref,
        backward=allow_backward,
        brakes=brakes_now(settings, wiring.clock().now()),
    )
    built = (lambda _: Built.UNASKED) if no_registry_check else ground.built
    source = ground.source()
    seen = look(
        asked, source, built, ground.schemas, lambda version: ground.needed(source, version)
    )
    planned = Planned(ground, seen)
    planned.check()
    return planned
