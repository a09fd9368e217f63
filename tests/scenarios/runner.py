"""Runs scenario files: a file is a story, played in steps, each with what must come out of it.

A step is a paragraph: comments, command lines, and, after a line of four dashes, what the commands
print. Indented lines are the input of the command above them. A step without dashes prints nothing.

    # Dev is finished, so stage may start; prod waits for it.
    report dev-1 Succeeded now
    decide
    ----
    hold   dev-1    Done
    start  stage-1  Waiting
    hold   prod-1   Waiting  EarlierGroupUnfinished (stage: 0 of 1 done, waiting for stage-1)
    summary Progressing

A file keeps one world and one clock, which starts at 2026-01-01T00:00:00Z. The commands, each
described in README.md and in its function:

    declare    groups, join, leave, placement, labels, strategy, revision, complete
    remember   rollout, approve, revoke, pause, resume, abort, retry, brake
    observe    report, forget, at, wait, reverse
    ask        decide, why, status, compat
    carry out  act, run

Files in `channels` have commands of their own (channel_commands.py): there a world is publishers,
channels and a subscriber.

`--rewrite` writes what is printed now after the dashes, and touches nothing else; it is right only
once a person has read it.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.channel_commands import CHANNEL_COMMANDS, ChannelStory
from tests.scenarios.commands import COMMANDS
from tests.scenarios.story import Story, StoryError

DASHES = "----"
# What a command does to a world, with its arguments and its input; what it prints.
Play = Callable[[Any, str, tuple[str, ...]], list[str]]
# How a world is made, and what can be done to it.
Stage = tuple[Callable[[], Any], Mapping[str, Play]]
ROLLOUTS: Stage = (Story, COMMANDS)
CHANNELS: Stage = (ChannelStory, CHANNEL_COMMANDS)


@dataclass(frozen=True)
class Command:
    """One command with its arguments and its input."""

    name: str
    rest: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """One paragraph of a story."""

    number: int  # the line it begins on
    comments: tuple[str, ...]
    source: tuple[str, ...]  # the command lines with their input, as written
    expected: tuple[str, ...]

    def commands(self) -> Iterator[Command]:
        """Its commands, each with the indented lines beneath it."""
        starts = [i for i, line in enumerate(self.source) if not line[0].isspace()]
        for start, end in zip(starts, [*starts[1:], len(self.source)], strict=True):
            name, _, rest = self.source[start].partition(" ")
            yield Command(name, rest.strip(), self.source[start + 1 : end])


def parse(text: str) -> list[Step]:
    """The steps of a story; paragraphs of comments alone belong to no step."""
    steps: list[Step] = []
    paragraph: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            step = _step(number - len(paragraph), paragraph)
            steps += [step] if step.source else []
            paragraph = []
    return steps


def _step(number: int, paragraph: list[str]) -> Step:
    cut = paragraph.index(DASHES) if DASHES in paragraph else len(paragraph)
    first = next((i for i, line in enumerate(paragraph) if not line.startswith("#")), cut)
    comments, source = tuple(paragraph[:first]), tuple(paragraph[first:cut])
    if source and source[0][0].isspace():
        raise StoryError(f"line {number + first}: input without a command above it")
    return Step(number, comments, source, tuple(paragraph[cut + 1 :]))


def play(steps: list[Step], stage: Stage = ROLLOUTS) -> list[tuple[str, ...]]:
    """What each step prints, one world through all of them."""
    make, commands = stage
    story = make()
    printed: list[tuple[str, ...]] = []
    for step in steps:
        out: list[str] = []
        for command in step.commands():
            try:
                out += _command(command, commands)(story, command.rest, command.lines)
            except StoryError as error:
                raise StoryError(f"line {step.number}: {command.name}: {error}") from None
        printed.append(tuple(out))
    return printed


def _command(command: Command, commands: Mapping[str, Play]) -> Play:
    if command.name not in commands:
        raise StoryError(f"no such command; known: {', '.join(sorted(commands))}")
    return commands[command.name]


def stage_of(path: Path) -> Stage:
    """The world and the commands of a file, by its folder."""
    return CHANNELS if path.parent.name == "channels" else ROLLOUTS


def rewritten(text: str, stage: Stage = ROLLOUTS) -> str:
    """The same story with every expectation replaced by what is printed now."""
    steps = parse(text)
    printed = {step.number: out for step, out in zip(steps, play(steps, stage), strict=True)}
    by_line = {step.number: step for step in steps}
    lines = text.split("\n")
    kept: list[str] = []
    at = 0
    while at < len(lines):
        step = by_line.get(at + 1)
        if step is None:
            kept.append(lines[at])
            at += 1
            continue
        out = printed[step.number]
        kept += [*step.comments, *step.source, *((DASHES, *out) if out else ())]
        at += len(step.comments) + len(step.source)
        while at < len(lines) and lines[at].strip():
            at += 1
    return "\n".join(kept)


def check(path: Path, *, rewrite: bool = False) -> list[str]:
    """Play a file; the differences from what it expects, none if it was to be rewritten."""
    text = path.read_text(encoding="utf-8")
    if rewrite:
        path.write_text(rewritten(text, stage_of(path)), encoding="utf-8")
        return []
    steps = parse(text)
    found: list[str] = []
    for step, out in zip(steps, play(steps, stage_of(path)), strict=True):
        if out != step.expected:
            found.append(f"line {step.number}: {'; '.join(step.source)}")
            found += list(difflib.ndiff(step.expected, out))
    return found
