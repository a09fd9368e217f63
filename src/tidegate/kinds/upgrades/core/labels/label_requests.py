"""Label changes that people requested and that are not written yet; a value, folded from facts.

One open edit a label of a holder: a later request for the same label takes the place of the earlier
edit. An edit ends as soon as the label has the value that was asked for, by whom it may be written,
and with its holder; a request ends with its last edit.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.labels.label_edit import (
    HolderChange,
    LabelEdit,
    LabelHolder,
    ordered,
)
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation
from tidegate.model.time import Instant

# The labels of holders, by the ids of subscriptions and organisations.
LabelsThere = Mapping[str, Mapping[str, str]]


class LabelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which actor requested a change of labels, when and why."""

    ident: str
    by: str
    at: Instant
    reason: str = ""


class RequestedLabel(msgspec.Struct, frozen=True):
    """One label that is to be changed, and by which request."""

    request: str
    holder: LabelHolder
    edit: LabelEdit


class LabelRequests(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that is requested of an organisation and its clusters."""

    # By their idents, the oldest first.
    requests: dict[str, LabelRequest] = {}
    # By holder and label.
    edits: dict[str, RequestedLabel] = {}

    def __bool__(self) -> bool:
        """Whether anything is requested."""
        return bool(self.edits)

    def of_holder(self, ident: str) -> tuple[RequestedLabel, ...]:
        """What is requested of one holder, in the order in which it is written."""
        return _in_order(each for each in self.edits.values() if each.holder.id == ident)

    def by_holder(self) -> dict[LabelHolder, tuple[RequestedLabel, ...]]:
        """What is requested of each holder, gathered in one pass."""
        last = {each.holder.id: each.holder for each in self.edits.values()}
        mine: dict[str, list[RequestedLabel]] = {ident: [] for ident in last}
        for each in self.edits.values():
            mine[each.holder.id].append(each)
        return {last[ident]: _in_order(some) for ident, some in mine.items()}

    def of_request(self, ident: str) -> tuple[RequestedLabel, ...]:
        """What is left of one request."""
        return tuple(each for each in self.edits.values() if each.request == ident)

    @property
    def holders(self) -> tuple[LabelHolder, ...]:
        """The holders whose labels are to be changed, each once."""
        return tuple({each.holder.id: each.holder for each in self.edits.values()}.values())

    @property
    def changes(self) -> tuple[HolderChange, ...]:
        """All of it as changes, holder by holder."""
        return tuple(
            HolderChange(holder, tuple(one.edit for one in some))
            for holder, some in self.by_holder().items()
        )

    def adding(self, request: LabelRequest, changes: Iterable[HolderChange]) -> "LabelRequests":
        """The same with one more request, which wins over earlier ones of the same labels."""
        edits = dict(self.edits)
        for change in changes:
            for edit in change.edits:
                key = f"{change.holder.kind}/{change.holder.id}/{edit.label}"
                edits.pop(key, None)
                edits[key] = RequestedLabel(request.ident, change.holder, edit)
        return _tidy({**self.requests, request.ident: request}, edits)

    def without(self, ident: str) -> "LabelRequests":
        """The same without one request."""
        edits = {key: each for key, each in self.edits.items() if each.request != ident}
        return _tidy(self.requests, edits)

    def settled(self, there: LabelsThere, *, whole: bool = True) -> "LabelRequests":
        """The same without what is as it was asked for, and without holders that are gone.

        Unless `whole`, what is missing may only not have been read.
        """
        edits = {
            key: each
            for key, each in self.edits.items()
            if not _is_settled(each.edit, there.get(each.holder.id), whole)
        }
        return self if len(edits) == len(self.edits) else _tidy(self.requests, edits)

    def upheld(self, there: LabelsThere) -> "LabelRequests":
        """The same without edits of labels that were changed since they were requested."""
        edits = {
            key: each
            for key, each in self.edits.items()
            if there.get(each.holder.id, {}).get(each.edit.label) == each.edit.before
        }
        return self if len(edits) == len(self.edits) else _tidy(self.requests, edits)


def _in_order(some: Iterable[RequestedLabel]) -> tuple[RequestedLabel, ...]:
    mine = {each.edit: each for each in some}
    return tuple(mine[each] for each in ordered(mine))


def _tidy(requests: Mapping[str, LabelRequest], edits: dict[str, RequestedLabel]) -> LabelRequests:
    """Requests of which something is left."""
    left = {each.request for each in edits.values()}
    return LabelRequests({key: each for key, each in requests.items() if key in left}, edits)


def _is_settled(edit: LabelEdit, labels: Mapping[str, str] | None, whole: bool) -> bool:
    value = None if labels is None else labels.get(edit.label)
    if value is None:
        return whole and (labels is None or edit.after is None)
    return value == edit.after


def labels_there(org: Organisation | None, clusters: Iterable[ManagedCluster]) -> LabelsThere:
    """The labels of an organisation and of its clusters."""
    found: dict[str, Mapping[str, str]] = {each.subscribed_as: each.labels for each in clusters}
    return found if org is None else {**found, org.id: org.labels}


def edits_text(edits: Iterable[LabelEdit]) -> str:
    """What is written, in short: soak-days=7, sector=prod; a label that goes: sector-."""
    return ", ".join(
        f"{each.label}-" if each.after is None else f"{each.label}={each.after}" for each in edits
    )


def change_words(edits: Iterable[LabelEdit]) -> str:
    """What changes, for people: soak-days 2 → 5, sector - → prod."""
    return ", ".join(f"{each.label} {_shown(each.before)} → {_shown(each.after)}" for each in edits)


def _shown(value: str | None) -> str:
    return "-" if value is None else value or '""'


def holder_id(target: str, cluster: ManagedCluster | None) -> str:
    """The holder that a task is about; None: the organisation."""
    return target if cluster is None else cluster.subscribed_as


def stand_key(holder: LabelHolder) -> str:
    """Where the verdicts on the labels of a holder are recorded, beside those of clusters."""
    return f"labels/{holder.id}"
