"""Requests of labels as rows: what each would change, and why it is not done yet."""

from collections.abc import Iterable, Iterator

from tidegate.explain.view import OptionRow, RequestRow
from tidegate.journal.fact import some_names
from tidegate.kinds.upgrades.core.explain.summary import most_telling
from tidegate.kinds.upgrades.core.labels.label_requests import (
    RequestedLabel,
    change_words,
    edits_text,
)
from tidegate.kinds.upgrades.core.rules.label_requests import LabelRequestPlan, RequestedHolder
from tidegate.model.plan import Option
from tidegate.model.reason import Outcome
from tidegate.model.verdict import Verdict, all_pass


def request_rows(labelling: LabelRequestPlan) -> Iterator[RequestRow]:
    """A row each request, the oldest first."""
    options = {each.target: each for each in labelling.options}
    for ident, request in labelling.requests.requests.items():
        mine = [
            (each, [one for one in each.labels if one.request == ident], options[at])
            for at, each in enumerate(labelling.holders)
        ]
        mine = [each for each in mine if each[1]]
        said = tuple(_distinct(option for _, _, option in mine))
        starts = bool(said) and all_pass(said)
        yield RequestRow(
            ident=ident,
            change=_change((holder, labels) for holder, labels, _ in mine),
            state="Waiting",
            by=request.by,
            at=request.at,
            reason=request.reason,
            targets=_targets(holder for holder, _, _ in mine),
            verdicts=said,
            starts=starts,
            shut=most_telling(said),
        )


def label_options(labelling: LabelRequestPlan) -> dict[str, OptionRow]:
    """What is requested of each cluster, by its external id."""
    found: dict[str, OptionRow] = {}
    for option in labelling.options:
        one = labelling.holders[option.target]
        if one.cluster is not None:
            text = change_words(each.edit for each in one.labels)
            starts = all_pass(option.verdicts)
            found[one.cluster.uuid] = OptionRow(f"labels {text}", option.verdicts, starts)
    return found


def stopped(rows: Iterable[RequestRow]) -> tuple[str, ...]:
    """The requests that stay as they are until a person does something."""
    return tuple(
        each.ident for each in rows if any(one.outcome is Outcome.STOP for one in each.verdicts)
    )


def _targets(holders: Iterable[RequestedHolder]) -> tuple[str, ...]:
    """The clusters it is about; none: all of the organisation, whose own labels change."""
    every = tuple(holders)
    if any(each.cluster is None for each in every):
        return ()
    return tuple(dict.fromkeys(each.called for each in every))


def _change(changes: Iterable[tuple[RequestedHolder, list[RequestedLabel]]]) -> str:
    """What changes; where it is not the same for all, of which cluster."""
    texts: dict[str, list[str]] = {}
    every = list[list[RequestedLabel]]()
    for holder, labels in changes:
        every.append(labels)
        texts.setdefault(change_words(each.edit for each in labels), []).append(holder.called)
    if len(texts) == 1:
        return next(iter(texts))
    becomes = {edits_text(each.edit for each in labels) for labels in every}
    if len(becomes) == 1:  # all get the same, whatever they have
        return becomes.pop()
    return "; ".join(f"{some_names(names)}: {text}" for text, names in texts.items())


def _distinct(options: Iterable[Option]) -> Iterator[Verdict]:
    """What all gates say, each once."""
    seen: set[Verdict] = set()
    for option in options:
        for each in option.verdicts:
            if each not in seen:
                seen.add(each)
                yield each
