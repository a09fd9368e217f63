"""What a merge request says that pins shards, or takes pins away."""

from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from tidegate.explain.markup import code
from tidegate.kinds.integrations.app.pins.plan import PinPlan
from tidegate.propose.branch_name import branch_part

# So many shards are named in a title, and so many lines in a description.
NAMED_MAX, LINES_MAX = 3, 60


class PinProposal(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a merge request, and the key by which it is found again."""

    title: str
    description: str
    key: str
    message: str


def proposal_of(plan: PinPlan, verb: str, reason: str) -> PinProposal:
    """The texts for a plan."""
    title = _title(plan, verb)
    return PinProposal(
        title=title,
        description="\n".join(_description(plan, reason)) + "\n",
        key=_key(plan, verb),
        message="\n".join((title, "", plan.sentence, "", reason)).strip() + "\n",
    )


def _title(plan: PinPlan, verb: str) -> str:
    names = [pin.aim.unit.name.removeprefix(f"{plan.integration}/") for pin in plan.pins]
    names = list(dict.fromkeys(names))
    some = ", ".join(names[:NAMED_MAX])
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{verb} {plan.integration} {some}{more} in {', '.join(_environments(plan))}"


def _environments(plan: PinPlan) -> list[str]:
    return sorted({pin.aim.place.managed.namespace.environment for pin in plan.pins})


def _key(plan: PinPlan, verb: str) -> str:
    """The same shards are the same proposal, however the rest changed."""
    names = "\0".join(sorted("\0".join(pin.aim.at) for pin in plan.pins))
    few = blake2b(names.encode(), digest_size=4).hexdigest()
    return branch_part(f"{verb}-{plan.integration}-{'-'.join(_environments(plan))}-{few}")


def _description(plan: PinPlan, reason: str) -> Iterator[str]:
    yield f"{plan.sentence}."
    if plan.rest:
        yield f"{plan.rest}."
    if reason:
        yield ""
        yield code(reason)
    yield ""
    yield "| shard | environment | now | then |"
    yield "|---|---|---|---|"
    for pin in plan.pins[:LINES_MAX]:
        where = pin.aim.place.managed.namespace.environment
        yield f"| {code(pin.aim.unit.name)} | {code(where)} | `{pin.now}` | `{pin.then}` |"
    if len(plan.pins) > LINES_MAX:
        yield ""
        yield f"and {len(plan.pins) - LINES_MAX} more"
