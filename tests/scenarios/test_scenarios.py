"""Every scenario file tells what is decided, word for word."""

import os
import re
from pathlib import Path

import pytest

from tests.scenarios.channel_commands import CHANNEL_COMMANDS
from tests.scenarios.commands import COMMANDS
from tests.scenarios.runner import check, parse, play, rewritten
from tests.scenarios.story import StoryError

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.txt"))
# The defects of the existing rollout library that are known by number.
DEFECTS = ["4b", *(str(number) for number in range(1, 30))]


def _id(path: Path) -> str:
    return path.relative_to(HERE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_the_story_goes_as_it_is_played(path: Path, request: pytest.FixtureRequest) -> None:
    """What the commands print is what the file says they print."""
    asked = request.config.getoption("--rewrite", default=False)
    differences = check(path, rewrite=bool(asked) or os.environ.get("TIDEGATE_REWRITE") == "1")
    if differences:
        pytest.fail("\n".join([f"{path.name} (- expected, + printed)", *differences]), False)


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_every_step_is_reported_in_words(path: Path) -> None:
    """Above every step stands a comment, and every file asks for a decision or an answer."""
    steps = parse(path.read_text(encoding="utf-8"))
    silent = [step.number for step in steps if not step.comments]
    assert not silent, f"steps without a comment at lines {silent}"
    assert any(step.expected for step in steps), "nothing is asked"


def test_every_known_defect_has_its_story() -> None:
    """The defects of the library are reported one by one, so none can come back unseen."""
    told = [
        path.name.partition("-")[0].lstrip("0") for path in (HERE / "rollout/defects").iterdir()
    ]
    assert sorted(told) == sorted(DEFECTS)


def test_every_command_is_documented() -> None:
    """The page lists the commands there are, and no others."""
    page = (HERE / "README.md").read_text(encoding="utf-8")
    listed = {word for row in re.findall(r"^\| `(.+?)` ", page, re.MULTILINE) for word in [row]}
    assert {row.split()[0] for row in listed} == set(COMMANDS) | set(CHANNEL_COMMANDS)


STORY = """\
# Words that belong to nobody.

# Two clusters, and room for one.
groups
  dev: c1 c2
strategy Progressive maxConcurrency=1

# The first goes.
decide
----
nonsense

# And a last word.
"""


def test_rewriting_touches_expectations_only() -> None:
    """Comments, blank lines and input survive; what is printed takes the place of what was said."""
    told = rewritten(STORY)
    assert (
        told.replace(
            "start  c1  Waiting\n"
            "hold   c2  Waiting  NoSlotFree (1 slot: 0 being updated, 0 soaking, 1 starting now)\n"
            "summary Waiting",
            "nonsense",
        )
        == STORY
    )
    assert rewritten(told) == told


def test_a_wrong_expectation_is_found(tmp_path: Path) -> None:
    """A story that does not go as written fails, names the line, and shows both versions."""
    path = tmp_path / "story.txt"
    path.write_text(STORY, encoding="utf-8")
    found = check(path)
    assert found[0] == "line 8: decide"
    assert "- nonsense" in found
    assert "+ start  c1  Waiting" in found
    check(path, rewrite=True)
    assert check(path) == []


def test_a_step_that_should_be_silent_must_be(tmp_path: Path) -> None:
    """Without dashes nothing may be printed: an expectation cannot be left out by accident."""
    path = tmp_path / "story.txt"
    path.write_text(STORY.replace("----\nnonsense\n", ""), encoding="utf-8")
    assert check(path)[0] == "line 8: decide"


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("dance\n", "line 1: dance: no such command"),
        ("groups\n  dev c1\n", "line 1: groups: dev c1: write `dev: c1 c2`"),
        ("report c1\n", "line 1: report: c1: write names, a status"),
        ("\n\n  c1 Failed\n", "line 3: input without a command"),
        ("labels c3..c1 a=b\n", "line 1: labels: c3..c1: not a range"),
        ("report c1 Failed yesterday\n", "line 1: report: yesterday: not an RFC 3339 time"),
    ],
)
def test_a_story_written_wrongly_says_where(text: str, wrong: str) -> None:
    """A mistake is reported with its line and what to write."""
    with pytest.raises(StoryError, match=re.escape(wrong)):
        play(parse(text))
