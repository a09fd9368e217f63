"""A preview in Markdown is never too long, and no name in it is taken for anything else."""

import re

from tests.estates import estate, integration, managed, staged
from tidegate.bundle.finding import BundleFinding
from tidegate.kinds.integrations.app.preview.document import preview_document
from tidegate.kinds.integrations.app.preview.parts import (
    PreviewEnvironment,
    PreviewNote,
    PreviewPin,
)
from tidegate.kinds.integrations.app.preview.prospect import Prospect, images_of
from tidegate.kinds.integrations.app.preview.report import Preview
from tidegate.kinds.integrations.app.preview.words import date
from tidegate.kinds.integrations.cli.preview.markdown import SIZE_MAX, markdown
from tidegate.kinds.integrations.core.review.effect import Effect, Effects, Fate
from tidegate.kinds.integrations.core.waves.outset import moves_of
from tidegate.model.time import Instant, parse_instant

EVIL = "x`|\\\n/merge @all <b> [a](b) </details>"


def _preview(name: str, count: int) -> Preview:
    """A change of which everything has a name that a person chose."""
    effects = tuple(
        Effect(
            fate=Fate.CHANGED,
            cluster=name,
            namespace=name,
            kind="Deployment",
            name=f"{name}{i}",
            environment=name,
            integration=name,
            unit=f"{name}/{i}",
            before=name,
            after=f"{name}2",
            restarts=True,
        )
        for i in range(count)
    )
    finding = BundleFinding(
        file=name, line=1, column=1, severity="error", rule="value", path=name, message=name
    )
    here = PreviewEnvironment(
        name=name,
        shards_before=count,
        shards_after=count,
        shards_touched=count,
        created=0,
        changed=count,
        deleted=0,
        restarts=count,
        images=images_of(effects),
    )
    base = estate(integration("tf", managed("aaaaaaa", rollout=None)))
    head = estate(integration("tf", managed(name, rollout=staged())))
    known = Prospect(
        words=name,
        base="",
        head=None,
        prefix=name,
        files=(name,) * count,
        at=Instant(0),
        effects=Effects(effects),
        environments=(here,) * count,
        moves=moves_of(base, head),
        schedules=(),
        pinned=(PreviewPin(name, name, name, name),) * count,
        warnings=(PreviewNote("removal", name),) * count,
        findings=(finding,) * count,
        fixed=1,
    )
    return preview_document(known)


def test_nothing_ends_a_table_mentions_accounts_or_commands_a_forge() -> None:
    text = markdown(_preview(EVIL, 2))
    plain = re.sub(r"<code>[^<]*</code>|`[^`\n|]*`", "", text)
    assert "@" not in plain
    assert "/merge" not in plain
    assert "[a]" not in plain
    assert not any(line.startswith("/") for line in text.splitlines())
    # Every row of a table has as many cells as its head, so that nothing ended one.
    head = 0
    for line in text.splitlines():
        head = 0 if not line.startswith("|") else head or line.count("|")
        assert line.count("|") == head
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")


def test_however_much_changes_the_text_is_short_enough_for_every_forge() -> None:
    """Cut tables say that they are, and the line that says it all stays on top."""
    for name, count in (("plain-name", 10), ("plain-name", 5_000), ("é" * 5_000, 500)):
        text = markdown(_preview(name, count))
        assert len(text.encode()) <= SIZE_MAX
        assert text.splitlines()[2].startswith(f"**{count:,} new error")
    assert "more; `tidegate preview -o json` has all of them" in text


def test_the_same_preview_is_the_same_text() -> None:
    assert markdown(_preview("a", 3)) == markdown(_preview("a", 3))


def test_a_day_that_is_near_is_reported_by_its_name_and_any_other_in_full() -> None:
    now = parse_instant("2026-11-20T15:00:00Z")
    assert date(now, now) == "at once"
    assert date(parse_instant("2026-11-26T14:59:00Z"), now) == "Thu 14:59"
    assert date(parse_instant("2026-11-26T15:00:00Z"), now) == "Thu 2026-11-26 15:00"
