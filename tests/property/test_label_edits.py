"""Edits of labels touch what they name and nothing else, and documents lose nothing of labels."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.cli.output import as_yaml
from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.upgrades.core.labels.label_edit import (
    BLOCKED,
    CLUSTER_LABELS,
    INHERIT,
    PUBLISH,
    edits_of,
    replacing,
    with_edits,
)
from tidegate.kinds.upgrades.core.labels.labels import (
    SECTOR_DEPENDENCIES,
    SECTOR_MAX_PARALLEL,
    split,
)
from tidegate.kinds.upgrades.core.labels.sector_edit import sector_labels, sector_values
from tidegate.kinds.upgrades.wire.labels_doc import (
    inheritance_document,
    policy_document,
    read_blocks,
    read_inheritance,
    read_policies,
    read_sectors,
    sector_documents,
)

# What labels hold, with much of what goes wrong: blanks, commas, what YAML takes for others.
TEXTS = st.one_of(
    st.sampled_from(
        ["", "0", "2", "007", "+3", "two", " 2", "2.0", "a", "a,b", "a, b", "a,", ",", "no", "~",
         "12e4567", "22:22", "1_000", "* * * * *", "@daily", "^4\\.13\\.", "50%", "null", "- x",
         "#x", "true", "0x1f", "'", '"', "{}", "[a]", "a: b", "é", "99999999999999999999"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8),
)  # fmt: skip
NAMES = st.sampled_from([*CLUSTER_LABELS, "owner", "x.y", "sector-deps", "schedules"])
LABELS = st.dictionaries(NAMES, TEXTS, max_size=8)
WANTED = st.dictionaries(NAMES, st.none() | TEXTS, max_size=8)
SECTORS = st.sampled_from(["a", "b.c", "d e", "prod"])
SECTOR_LABELS = st.dictionaries(
    st.one_of(
        SECTORS.map(lambda name: SECTOR_DEPENDENCIES + name),
        SECTORS.map(lambda name: SECTOR_MAX_PARALLEL + name),
        st.sampled_from([BLOCKED, INHERIT, "owner"]),
    ),
    TEXTS,
    max_size=6,
)


def there_and_back(document: Any, in_yaml: bool) -> Any:
    """A document as it is printed, and read again."""
    if not in_yaml:
        return json.loads(json.dumps(document))
    return read_yaml("printed", as_yaml(document)).data


@given(LABELS, WANTED)
def test_an_edit_touches_only_the_labels_it_names(
    labels: dict[str, str], wanted: dict[str, str | None]
) -> None:
    """Those are what was asked for, or not there; all others are as they were."""
    after = with_edits(labels, edits_of(labels, wanted))
    assert {k: v for k, v in after.items() if k not in wanted} == {
        k: v for k, v in labels.items() if k not in wanted
    }
    for label, value in wanted.items():
        assert (after.get(label) or None) == (value or None)


@given(LABELS, WANTED)
def test_asked_for_again_nothing_is_written(
    labels: dict[str, str], wanted: dict[str, str | None]
) -> None:
    """What was cut short is completed, and what is done stays."""
    edits = edits_of(labels, wanted)
    assert edits_of(with_edits(labels, edits), wanted) == ()
    half = with_edits(labels, edits[: len(edits) // 2])
    assert with_edits(half, edits_of(half, wanted)) == with_edits(labels, edits)


@given(LABELS, WANTED)
def test_a_schedule_is_written_last_and_taken_away_first(
    labels: dict[str, str], wanted: dict[str, str | None]
) -> None:
    """Nothing is upgraded by half of what is being written."""
    edits = edits_of(labels, wanted)
    for at, edit in enumerate(edits):
        if edit.label == "schedule":
            assert at == (0 if edit.after is None else len(edits) - 1)


@given(LABELS, st.booleans())
def test_a_policy_printed_and_set_changes_nothing(labels: dict[str, str], in_yaml: bool) -> None:
    """Whatever the labels hold, mistakes too; and exactly so where it replaces all."""
    printed = there_and_back([policy_document("c", labels)], in_yaml)
    (policy,) = read_policies(printed)
    if labels.get("schedule") not in ("weekdays", "anytime"):
        assert edits_of(labels, policy.wanted) == ()
        assert edits_of(labels, replacing(labels, policy.wanted, CLUSTER_LABELS)) == ()


@given(LABELS)
def test_a_policy_set_is_the_policy_got(labels: dict[str, str]) -> None:
    """On a cluster that had none, and on one whose policy it replaces."""
    wanted = read_policies([policy_document("c", labels)])[0].wanted
    kept = {label: value for label, value in labels.items() if value}
    for before in ({}, {"mutexes": "m", "soak-days": "9"}):
        asked = replacing(before, wanted, CLUSTER_LABELS)
        after = with_edits(before, edits_of(before, asked))
        assert policy_document("c", after) == policy_document("c", kept)


@given(SECTOR_LABELS, st.booleans())
def test_sectors_printed_and_set_change_nothing(labels: dict[str, str], in_yaml: bool) -> None:
    """One that waits for nothing, and one that has only a limit, too."""
    printed = there_and_back(sector_documents(labels), in_yaml)
    sectors = read_sectors(printed)
    assert edits_of(labels, sector_values(labels, sectors)) == ()
    whole = sector_values({}, sectors)
    assert edits_of(labels, replacing(labels, whole, sector_labels(labels))) == ()


@given(SECTOR_LABELS, SECTOR_LABELS)
def test_sectors_set_are_the_sectors_got(labels: dict[str, str], others: dict[str, str]) -> None:
    """Where they replace all others; what is no sector stays."""
    sectors = read_sectors(sector_documents(others))
    wanted = replacing(labels, sector_values({}, sectors), sector_labels(labels))
    after = with_edits(labels, edits_of(labels, wanted))
    assert sector_documents(after) == sector_documents(others)
    assert {k: v for k, v in after.items() if "sector" not in k} == {
        k: v for k, v in labels.items() if "sector" not in k
    }


@given(TEXTS, TEXTS, st.booleans())
def test_blocks_and_inheritance_printed_and_set_change_nothing(
    one: str, other: str, in_yaml: bool
) -> None:
    """Lists stand as they do between the commas of their labels."""
    labels = {INHERIT: one, PUBLISH: other}
    printed = there_and_back(inheritance_document(labels), in_yaml)
    assert edits_of(labels, read_inheritance(printed)) == ()
    blocks = there_and_back(list(split(one) or ()), in_yaml)
    assert edits_of({BLOCKED: one}, {BLOCKED: ",".join(read_blocks(blocks))}) == ()
