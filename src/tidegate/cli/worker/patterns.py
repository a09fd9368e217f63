"""`--kind` and `--act`: a pattern that matches nothing must not look as if it did."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from tidegate.engine.started import Started
from tidegate.model.counted import counted
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest
from tidegate.settings.settings import Settings

_WILD = re.compile(r"[*?\[]")
# How many rollouts are named where none is acted on.
NAMED = 3


def check_patterns(settings: Settings, kinds: Sequence[Started]) -> list[str]:
    """UserError if nothing that is started can match --kind or --act; a line for each of several.

    What is known before anything is asked: the first words of the names. `acted_on` says the rest.
    """
    words: set[str] = set()
    for one in kinds:
        if one.words is None:
            return []
        words.update(one.words)
    problems = [
        Problem("--kind", f'"{each}" matches nothing that is started', _hint(each, words))
        for each in settings.kinds
        if not any(fnmatchcase(word, each) for word in words)
    ]
    problems += [
        Problem("--act", f'"{each}" matches nothing that is started', _hint(each, words))
        for each in settings.act
        if not _may_match(each, words)
    ]
    idle = len([each for each in problems if each.path == "--act"]) == len(settings.act) > 0
    if idle or any(each.path == "--kind" for each in problems):
        raise UserError(tuple(problems))
    return [each.text() for each in problems]


def _may_match(pattern: str, words: Iterable[str]) -> bool:
    first, slash, _ = pattern.partition("/")
    return bool(_WILD.search(first)) or (bool(slash) and first in words)


def _hint(pattern: str, words: set[str]) -> str:
    first = pattern.partition("/")[0]
    if first in words:
        return f"write {first}/NAME, or '{first}/*'"
    there = ", ".join(f"'{each}/*'" for each in sorted(words)) or "nothing"
    return nearest(first, words) or f"there is {there}; settings start the others"


def check_found(act: Sequence[str], partitions: Iterable[str]) -> list[str]:
    """UserError if nothing that was found matches --act; a line for each pattern of several."""
    found = list(partitions)
    lines = list(acted_on(act, found))
    if found and lines and len(lines) == len(act):
        problems = (each.removeprefix("--act ") for each in lines)
        raise UserError(tuple(Problem("--act", each, "see --help") for each in problems))
    return lines


def acted_on(act: Sequence[str], partitions: Iterable[str]) -> Iterator[str]:
    """A line for each pattern of --act that matches none of the rollouts that were found."""
    found = sorted(partitions)
    names = ", ".join(found[:NAMED]) + (", …" if len(found) > NAMED else "")
    for pattern in act:
        if not any(fnmatchcase(each, pattern) for each in found):
            what = f"none of the {counted(len(found), 'rollout')} found ({names})"
            rest = what if found else "nothing: no rollout was found"
            yield f'--act "{pattern}" matches {rest}'
