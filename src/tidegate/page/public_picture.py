"""The picture of one rollout as of an entry, for readers without a login.

It shows what the comment that links it says, and no more: the rollout by its name, numbers, and
cells; groups are numbered, and targets have no names.
"""

from collections import OrderedDict
from threading import Lock

from msgspec.structs import replace

from tidegate.api.live.live_journals import LiveJournals
from tidegate.app.partitions.decision import Decision
from tidegate.app.past.journals import past_moment
from tidegate.model.counted import counted
from tidegate.model.errors import NotFoundError
from tidegate.model.time import format_second
from tidegate.net.picture_links import SUFFIX, PictureLinks
from tidegate.page.fleet import FleetBlock, FleetQuery, fleet_block
from tidegate.page.map_picture import map_picture
from tidegate.page.template_set import HEADERS
from tidegate.page.words import LOOKS, WORDS

# Forges keep what they fetched; of what was asked for last, so many are kept here, too.
KEPT = 64
PICTURE_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "public, max-age=31536000, immutable",
}


class PublicPictures:
    """Draws what links of ours name; anything else is not there."""

    def __init__(self, live: LiveJournals, links: PictureLinks) -> None:
        self._live = live
        self._links = links
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, int], str] = OrderedDict()

    def picture(self, signature: str, seq: int, name: str) -> str:
        """The picture; NotFoundError if the link is not ours, or its entry was dropped."""
        partition = name.removesuffix(SUFFIX)
        if not name.endswith(SUFFIX) or not self._links.holds(signature, partition, seq):
            raise NotFoundError("picture", str(seq), "its link is not of this service")
        with self._lock:
            known = self._kept.get((partition, seq))
            if known is None:
                known = self._kept[partition, seq] = self._drawn(partition, seq)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return known

    def _drawn(self, partition: str, seq: int) -> str:
        moment = self._live.ask(lambda now: past_moment(now, f"{seq}/{partition}"))
        return self._live.ask_then(moment, lambda then: public_picture(then.find(partition)))


def public_picture(one: Decision) -> str:
    """A rollout without the names of its groups and targets."""
    block = fleet_block(one)
    return map_picture([_nameless(block, format_second(one.now))], FleetQuery(), alone=True)


def _nameless(block: FleetBlock, at: str) -> FleetBlock:
    names = {
        each.name: WORDS["group_number"].format(number=number)
        for number, each in enumerate(block.lanes, 1)
    }
    kinds = tuple(
        replace(each, group=names.get(each.group, "") if each.group else "")
        for each in block.cells.kinds
    )
    parts = [f"{block.counts[each.name]} {each.word}" for each in LOOKS if block.counts[each.name]]
    said = f"{counted(block.size, 'target')}: {', '.join(parts)}" if parts else WORDS["nothing"]
    return replace(
        block,
        summary=f"{said} · {at}",
        lanes=tuple(replace(each, name=names[each.name]) for each in block.lanes),
        cells=replace(block.cells, kinds=kinds),
    )
