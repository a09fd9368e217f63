"""Brakes, written tersely: `brake hold outage on region=eu by sre until +2h because incident 42`.

A keyword takes the word behind it, `because` all the rest; `key=value` words become fields of the
brake, and so do indented lines, in YAML, for what is too long for a line.
"""

from collections.abc import Callable

from tests.scenarios.story import Doc, Story, StoryError, names_of, pairs_of, yaml_of
from tidegate.model.time import format_instant

Lines = tuple[str, ...]

_KEYWORDS = ("on", "by", "until", "from", "to", "every", "in", "at", "since", "of")
# The list each kind of brake stands in.
_LISTS = {
    "hold": "holds",
    "freeze": "freezes",
    "block": "blocks",
    "pin": "pins",
    "budget": "budgets",
    "mutex": "mutexes",
    "approval": "approvals",
    "health": "health",
}
_OWNED = frozenset(("hold", "freeze", "block", "pin", "except"))


def brake_command(story: Story, rest: str, lines: Lines) -> list[str]:
    """Put a brake on, lift one, or say what brakes say; described in README.md."""
    kind, _, words = rest.partition(" ")
    more: Doc = yaml_of(lines) if lines else {}
    command = _COMMANDS.get(kind)
    if command is not None:
        command(story, words, more)
        return []
    if kind not in _LISTS:
        known = ", ".join((*_LISTS, *_COMMANDS))
        raise StoryError(f"{kind}: no such brake; known: {known}")
    name, fields = _fields(story, words, owned=kind in _OWNED)
    brake: Doc = {"revision" if kind == "block" else "name": name, **fields, **more}
    others = [each for each in story.brakes.get(_LISTS[kind], []) if _name(each) != name]
    story.brakes[_LISTS[kind]] = [*others, brake]
    return []


def _fields(story: Story, words: str, *, owned: bool = False) -> tuple[str, Doc]:
    """The first word, and the fields the others make."""
    words, _, why = words.partition(" because ")
    head, said = _parted(words)
    name, *pairs = head or [""]
    doc: Doc = pairs_of(pairs)
    if "on" in said:
        doc["scope"] = _scope(said["on"])
    if "by" in said or owned:
        doc["owner"] = said.get("by", "ops")
    if why or owned:
        doc["reason"] = why or "maintenance"
    moments = {"until": "expires", "from": "from", "to": "to", "at": "at", "since": "since"}
    for word, field in moments.items():
        if word in said:
            doc[field] = _time(story, said[word])
    for word, field in {"every": "rrule", "in": "timeZone", "of": "revision"}.items():
        if word in said:
            doc[field] = said[word]
    return name, doc


def _parted(words: str) -> tuple[list[str], dict[str, str]]:
    """A keyword takes the word behind it; the others stand for themselves."""
    head: list[str] = []
    said: dict[str, str] = {}
    rest = iter(words.split())
    for word in rest:
        if word in _KEYWORDS:
            said[word] = next(rest, "")
        else:
            head.append(word)
    return head, said


def _scope(text: str) -> Doc:
    """`everything`, `kind:policies`, `region=eu,env=prod`, or names like `c1,c2..c5`."""
    if text == "everything":
        return {"everything": True}
    if text.startswith("kind:"):
        return {"kinds": text.removeprefix("kind:").split(",")}
    if "=" in text:
        return {"selector": {"matchLabels": dict(pair.split("=", 1) for pair in text.split(","))}}
    return {"targets": names_of(text.split(","))}


def _time(story: Story, text: str) -> str:
    return format_instant(story.moment(text)) if text[0] in "+-n" else text


def _name(brake: Doc) -> str:
    return str(brake.get("name", brake.get("revision")))


def _find(story: Story, field: str, name: str) -> Doc:
    for each in story.brakes.get(field, []):
        if _name(each) == name:
            found: Doc = each
            return found
    raise StoryError(f"there is no {name} among the {field}")


def _lift(story: Story, words: str, more: Doc) -> None:
    """`lift NAME`: whatever is called so is gone."""
    for field in _LISTS.values():
        kept = [each for each in story.brakes.get(field, []) if _name(each) != words]
        if kept:
            story.brakes[field] = kept
        else:
            story.brakes.pop(field, None)


def _except(story: Story, words: str, more: Doc) -> None:
    """`except FREEZE on SCOPE until TIME by WHO because WHY`."""
    name, doc = _fields(story, words, owned=True)
    _find(story, "freezes", name).setdefault("exceptions", []).append(doc | more)


def _claim(story: Story, words: str, more: Doc) -> None:
    """`claim mutex/db c9 by r7 since -1h`."""
    first, _, others = words.partition(" ")
    target, doc = _fields(story, others)
    doc["partition"] = doc.pop("owner", "")
    story.brakes.setdefault("claims", []).append({"name": first, "target": target} | doc | more)


def _free(story: Story, words: str, more: Doc) -> None:
    """`free mutex/db c9`: no one has that claim any more."""
    name, target = words.split()
    claims = story.brakes.get("claims", [])
    story.brakes["claims"] = [
        each for each in claims if (each["name"], each["target"]) != (name, target)
    ]


def _response(story: Story, words: str, more: Doc) -> None:
    """`response board ada approves r2 at -1h until +2h because fine`; or `rejects`."""
    name, who, verb, others = words.split(" ", 3)
    revision, doc = _fields(story, others)
    said: Doc = {"who": who, "revision": revision, "at": format_instant(story.now)}
    said |= doc | ({"rejects": True} if verb == "rejects" else {}) | more
    _find(story, "approvals", name).setdefault("responses", []).append(said)


def _evidence(story: Story, words: str, more: Doc) -> None:
    """`evidence canaries of r2 at -2m since -1h runs=++- alerts=Down`: a minute a run, the last
    one when it was seen."""
    name, doc = _fields(story, words)
    seen = story.moment(doc.pop("at", "now"))
    runs = str(doc.pop("runs", ""))
    alerts = str(doc.pop("alerts", ""))
    doc["seen"] = format_instant(seen)
    minute = 60_000_000_000
    doc["runs"] = [
        {"at": format_instant(seen - minute * (len(runs) - 1 - i)), "clean": run == "+"}
        for i, run in enumerate(runs)
    ]
    doc["alerts"] = [{"name": each} for each in alerts.split(",") if each]
    _find(story, "health", name)["evidence"] = doc | more


def _set(story: Story, words: str, more: Doc) -> None:
    """`set kind=policies partition=r12 author=ada applyTime=30m`."""
    story.brakes |= pairs_of(words.split()) | more


_COMMANDS: dict[str, Callable[[Story, str, Doc], None]] = {
    "lift": _lift,
    "except": _except,
    "claim": _claim,
    "free": _free,
    "response": _response,
    "evidence": _evidence,
    "set": _set,
}
