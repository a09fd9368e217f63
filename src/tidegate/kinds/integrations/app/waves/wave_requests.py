"""Overrides of shards offered as merge requests: the way in which waves through Git act.

Each place has one branch, and so at most one open merge request. What it changes stands in its
description, for the next worker; every offer makes the edits anew on the tip of the target branch.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from tidegate.bundle.reader import ReadBundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.explain.hidden_block import HiddenBlock
from tidegate.explain.markup import code, image, table
from tidegate.forge.port import Forge, MergeRequest, Proposal, RequestState
from tidegate.git.port import Repository
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.app.pins.plan import PinEdits, PinnedImage
from tidegate.kinds.integrations.app.pins.planner import files_on
from tidegate.kinds.integrations.core.waves.holds import HOLD_NOTE, is_held
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Site
from tidegate.kinds.integrations.wave_requests_port import WaveRequest
from tidegate.model.counted import counted
from tidegate.model.errors import StaleError
from tidegate.model.json_text import decode_json
from tidegate.propose.branch_name import branch_part
from tidegate.propose.change import Upto, propose
from tidegate.propose.foreign import foreign_work
from tidegate.propose.offer import PREFIX

LABEL = "tidegate-waves"
# Within so long a forge is not asked again for what we did not change.
FRESH_S = 30.0
# The comment that says why a request was closed is replaced under this key.
CLOSED = "waves-closed"
_VERSION = 1
_BLOCK = HiddenBlock("tidegate-waves")
# What is read of a page that people can edit is bounded.
_BLOCK_MAX, _UNITS_MAX = 65_536, 1_000


class WaveData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a merge request of waves changes, as its description has it."""

    version: int = _VERSION
    place: str
    revision: str
    units: dict[str, str]
    # We closed it ourselves; written right before.
    withdrawn: bool = False


class ForgeWaveRequests:
    """Merge requests at the forge of the bundle's repository."""

    def __init__(
        self,
        repository: Repository,
        forge: Forge,
        tree_at: Callable[[str], Tree],
        read: ReadBundle,
        site: Site | None = None,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._repository, self._forge = repository, forge
        self._tree_at, self._read, self._site = tree_at, read, site or Site()
        self._fresh_s = fresh_s
        # What was open of a place, and when that was read.
        self._last: dict[str, tuple[float, WaveRequest | None]] = {}
        # Refused requests whose shards were returned since: they need nothing more.
        self._answered: set[int] = set()

    async def newest(self, place: ManagedPlace) -> WaveRequest | None:
        """The merge request of a place that is open or was refused, as it was a moment ago."""
        now = asyncio.get_running_loop().time()
        last = self._last.get(place.name)
        if last is None or now - last[0] >= self._fresh_s:
            last = self._last[place.name] = now, await self._newest(place)
        return last[1]

    async def _newest(self, place: ManagedPlace) -> WaveRequest | None:
        found = await self._found(place)
        data = _data(found.description) if found is not None else None
        if found is None or data is None or data.place != place.name:
            return None
        declined = found.state is RequestState.CLOSED
        if found.state is RequestState.MERGED or (declined and self._is_ours(found, data)):
            return None
        return WaveRequest(
            number=found.number,
            url=found.url,
            revision=data.revision,
            units=data.units,
            declined=declined,
        )

    def _is_ours(self, found: MergeRequest, data: WaveData) -> bool:
        """Whether a closed request was closed by us, or its refusal was answered."""
        return data.withdrawn or found.number in self._answered

    async def _found(self, place: ManagedPlace) -> MergeRequest | None:
        return next(iter(await self._forge.find(source=branch_of(place), state=None)), None)

    async def offer(self, place: ManagedPlace, moves: Mapping[str, str], picture: str = "") -> str:
        """One merge request with these moves, and with those that are open for the same default."""
        known = await self._newest(place)
        self._last.pop(place.name, None)
        is_kept = known is not None and known.revision == place.revision and not known.declined
        kept = known.units if known is not None and is_kept else {}
        wanted = {**kept, **moves}
        # What Git has already is no move: one that is taken back before it was merged, too.
        units = {name: image for name, image in wanted.items() if _wanted(place, name) != image}
        if not units:
            return await self._withdraw(place)
        branch = branch_of(place)
        title = f"{place.name}: waves through Git"
        data = WaveData(place=place.name, revision=place.revision, units=units)
        proposal = Proposal(
            title=title,
            description=_described(place, data, picture),
            source=branch,
            target="",
            labels=(LABEL,),
        )
        done = await propose(
            self._repository,
            self._forge,
            proposal,
            lambda base: self._files(place, units, base),
            key=branch.removeprefix(PREFIX),
            upto=Upto.OPEN,
            message=f"{title}\n\n" + "".join(f"{n}: {image}\n" for n, image in units.items()),
        )
        return done.request.url if done.request is not None else f"{done.target} has it already"

    async def _withdraw(self, place: ManagedPlace) -> str:
        """Close the open merge request of a place: nothing of it is wanted any more."""
        found = await self._found(place)
        if found is None or found.state is not RequestState.OPEN:
            if found is not None:
                self._answered.add(found.number)
            return "Git has it already"
        await self._close(found, "nothing of it is wanted any more")
        return f"{found.url} was closed: Git has it already"

    async def supersede(self, place: ManagedPlace) -> None:
        """Close what is open of a place for another default than its present one, and say why."""
        self._last.pop(place.name, None)
        found = await self._found(place)
        data = _data(found.description) if found is not None else None
        if found is None or data is None or data.revision == place.revision:
            return
        if found.state is not RequestState.OPEN:
            return
        await asyncio.to_thread(self._repository.fetch)
        _, other = await asyncio.to_thread(foreign_work, self._repository, found)
        if other:
            raise StaleError(f"{found.url} has work of others, and is left: {other}")
        default = code(place.revision)
        why = f"it is for {code(data.revision)}, and the default image is {default} now"
        await self._close(found, why)

    async def _close(self, found: MergeRequest, why: str) -> None:
        """Say why, mark it as closed by us, then close it: a crash before the end repeats it."""
        why = f"Closed by Tidegate: {why}."
        await self._forge.comment(found.number, CLOSED, why)
        if (data := _data(found.description)) is not None:
            words = _BLOCK.added(found.description, _json(replace(data, withdrawn=True)))
            proposal = Proposal(
                title=found.title, description=words, source=found.source, target=found.target
            )
            await self._forge.update(found.number, proposal)
        await self._forge.decline(found.number)

    def _files(
        self, place: ManagedPlace, units: Mapping[str, str], base: str
    ) -> Mapping[str, bytes | None]:
        """The overrides on a commit; StaleError if the place is another one there."""
        tree = self._tree_at(base)
        there = estate_in(self._read(tree), self._site).place(place.partition)
        if there is None or there.revision != place.revision:
            raise StaleError(f"{place.name}: its default image is another one by now")
        for name in units:
            unit = there.unit(name)
            if unit is not None and unit.pinned_by and not is_held(unit):
                raise StaleError(f"{name} has an image of its own: {unit.pinned_by}")
        loose: PinEdits = {
            (place.name, name): None for name, image in units.items() if image == place.revision
        }
        pins: PinEdits = {
            (place.name, name): PinnedImage(image=image, note=HOLD_NOTE.text, as_it_is=True)
            for name, image in units.items()
            if image != place.revision
        }
        files: dict[str, bytes] = {}
        for edits in (loose, pins):
            if edits:
                files |= files_on(EditedTree(tree, files), self._read, self._site, edits)
        return files


def branch_of(place: ManagedPlace) -> str:
    """The branch of a place's waves."""
    return f"{PREFIX}waves-{branch_part(place.name)}"


def _wanted(place: ManagedPlace, name: str) -> str | None:
    unit = place.unit(name)
    return place.wanted(unit) if unit is not None else None


def _data(description: str) -> WaveData | None:
    """What a description says; None if it was changed so that it cannot be read."""
    found = _BLOCK.found(description)
    if len(found) != 1 or len(found[0]) > _BLOCK_MAX:
        return None
    try:
        data = decode_json(found[0], WaveData)
    except msgspec.DecodeError:
        return None
    return data if data.version == _VERSION and len(data.units) <= _UNITS_MAX else None


def _described(place: ManagedPlace, data: WaveData, address: str) -> str:
    lines = (*_lines(place, data), "", *image(address, "the rollout when this was offered"))
    return _BLOCK.added("\n".join(lines).rstrip("\n"), _json(data))


def _json(data: WaveData) -> str:
    return msgspec.json.encode(data).decode()


def _lines(place: ManagedPlace, data: WaveData) -> Iterator[str]:
    yield f"The next {counted(len(data.units), 'shard')} of {code(place.name)}, by its rollout."
    yield ""
    yield f"`tidegate why {place.partition}` says why these, and why the others wait."
    yield ""
    rows = [
        (code(name), code(_wanted(place, name) or ""), code(image))
        for name, image in data.units.items()
    ]
    yield from table(("shard", "now", "then"), rows)
