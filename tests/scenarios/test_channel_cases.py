"""The table of cases in the docs is what the stories of channels tell, row for row."""

from pathlib import Path

import pytest

from tests.scenarios.runner import parse

FILES = sorted((Path(__file__).parent / "channels").glob("*.txt"))
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "strict.md"


def row(text: str) -> str:
    """The line of a story: its title, and what the three say at its first decision."""
    title = text.partition("\n")[0].removeprefix("# ")
    step = next(each for each in parse(text) if "decide" in each.source)
    answers = dict(line.split(maxsplit=1) for line in step.expected[:3])
    strict, colon, reasons = answers["strict"].partition(": ")
    ours = f"{strict}: `{reasons.partition(',')[0]}`" if colon else strict
    return f"| {title} | {answers['manager']} | {answers['deployer']} | {ours} |"


def test_the_page_has_every_row_and_no_other() -> None:
    """The table under its heading, in the order of the files."""
    section = PAGE.read_text("utf-8").split("## Promotions through channels\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows == [row(path.read_text("utf-8")) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_a_case_that_strict_keeps_says_what_opens_it(path: Path) -> None:
    """Each reason in words, with what to do."""
    for step in parse(path.read_text("utf-8")):
        shut = [line for line in step.expected if line.startswith("strict    keeps")]
        assert bool(shut) is any(line.startswith("  opens: ") for line in step.expected)
