"""What rollouts share, as people write it: budgets, mutexes, and the claims there are on them.

budgets: [{name: eu-cap, max: 10%, per: region, of: {eu: 120, us: 80}}]
mutexes: [{name: db, scope: {selector: {matchLabels: {tier: db}}}}]
claims: [{name: mutex/db, target: db-1, partition: r7, key: r7-12, since: 2026-01-05T09:00:00Z}]
"""

from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_scope
from tidegate.gates.budget import Budget
from tidegate.gates.claims import Claim
from tidegate.gates.mutex import Mutex
from tidegate.gates.scope import EVERYTHING
from tidegate.model.limit import REMEDY as LIMIT_REMEDY
from tidegate.model.limit import Limit
from tidegate.model.problem import shown

_KINDS = ("budget/", "mutex/")


def read_budget(reader: Reader) -> Budget:
    """A budget; without a scope it is over everything."""
    limit = reader.limit("max")
    if not reader.has("max"):
        reader.problems.add(reader.at("max"), "missing", LIMIT_REMEDY)
    per = reader.text("per")
    if per == "":
        reader.problems.add(reader.at("per"), "empty", "name a label, or drop it")
    return Budget(
        name=reader.text("name") or "",
        limit=limit or Limit(0),
        scope=read_scope(reader, default=EVERYTHING),
        per=per or "",
        sizes=_sizes(reader, per or ""),
    )


def _sizes(reader: Reader, per: str) -> dict[str, int]:
    """How many targets there are: one number, or one for each value of the label."""
    if not reader.has("of"):
        return {}
    if not per:
        total = reader.whole("of")
        return {} if total is None else {"": total}
    sizes = reader.child("of")
    found = {value: sizes.whole(value) for value in sizes.names()}
    return {value: size for value, size in found.items() if size is not None}


def read_mutex(reader: Reader) -> Mutex:
    """A mutex."""
    return Mutex(name=reader.text("name") or "", scope=read_scope(reader))


def read_claim(reader: Reader) -> Claim:
    """A place of a budget or a mutex, and its holder."""
    name, target = reader.text("name"), reader.text("target")
    if reader.raw("name") is None or (name is not None and not name.startswith(_KINDS)):
        offer = 'write "mutex/NAME", "budget/NAME" or "budget/NAME/VALUE"'
        reader.problems.add(reader.at("name"), f"{shown(name)} is not a claim", offer)
    if reader.raw("target") is None:
        reader.problems.add(reader.at("target"), "missing", "say which target it is for")
    claim = Claim(
        name=name or "",
        target=target or "",
        partition=reader.text("partition") or "",
        key=reader.text("key") or "",
        since=reader.instant("since"),
        place=reader.whole("place") or 0,
    )
    reader.close()
    return claim
