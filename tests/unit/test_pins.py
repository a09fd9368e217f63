"""Pins as they are written into files, and refused where a file leaves no room for one; by rows."""

import pytest

from tests.bundles import INVENTORY, PRODUCTION, bundle_of, integration
from tidegate.bundle.section import Bundle
from tidegate.kinds.integrations.app.pins.edits import ImagePin, pinned, unpinned
from tidegate.kinds.integrations.bundle.lint import overdue
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.aims import (
    PinTarget,
    aims_of,
    chosen,
    image_to_keep,
    touched,
)
from tidegate.kinds.integrations.core.review.notes import PinNote, read_note
from tidegate.kinds.integrations.core.workloads.estate import Estate, estate_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

FILE = "integrations/it.yml"
SPEC = "spec: {imageRef: aaaaaaa, resources: {requests: {cpu: 100m, memory: 1Gi}}}"
HEAD = f"- namespace: {{$ref: {PRODUCTION}}}\n  {SPEC}\n"
REF = "{$ref: /aws/%s/account.yml}"


def files(entry: str) -> dict[str, bytes]:
    """A bundle with one integration, whose entry of `managed` goes on so."""
    text = integration(HEAD + entry)
    return {path: each.encode() for path, each in {**INVENTORY, FILE: text}.items()}


def estate(bundle: Bundle) -> Estate:
    """What a sound bundle results in."""
    problems = Problems()
    declared = INTEGRATIONS.of(bundle)
    found = estate_of(declared.integrations, declared.inventories, problems)
    assert not problems.errors, [problem.text() for problem in problems.errors]
    return found


def aims(entry: str) -> dict[str, PinTarget]:
    """Every shard there is, by what overrides call it."""
    bundle = bundle_of(files(entry))
    return {aim.shard: aim for aim in aims_of(estate(bundle), INTEGRATIONS.of(bundle).inventories)}


def after_pin(entry: str, *shards: str, image: str = "f929a38", note: str | None = None) -> str:
    """The entry with shards pinned."""
    known = aims(entry)
    asked = [
        (known[name].place, ImagePin(shard=name, image=image, ref=known[name].ref, note=note))
        for name in shards
    ]
    return _entry(entry, pinned(files(entry).__getitem__, asked))


def after_unpin(entry: str, *shards: str) -> str:
    """The entry with shards not pinned any more."""
    known = aims(entry)
    return _entry(entry, unpinned(files(entry).__getitem__, [(known[n].place, n) for n in shards]))


def _entry(before: str, edited: list) -> str:  # type: ignore[type-arg]
    text = edited[0].data.decode() if edited else files(before)[FILE].decode()
    start = integration(HEAD)
    assert text.startswith(start)
    return text.removeprefix(start)


BLOCK = "  sharding:\n    strategy: per-aws-account\n"
LIST = f"{BLOCK}    shardSpecOverrides:"
OURS = "{shard: app-sre, imageRef: bbbbbbb}"
THEIRS = "{shard: ter-int-dev, imageRef: bbbbbbb}"
BY_FILE = "[{shard: {$ref: /aws/app-sre/account.yml}, imageRef: f929a38}]"
NOTED = "    - shard: app-sre\n      imageRef: bbbbbbb  # tidegate: x\n"
OTHER = "    - shard: ter-int-dev\n      imageRef: bbbbbbb\n"
PINS = [
    # No list: by file, which every reader understands.
    (BLOCK, "app-sre", f"""{LIST}
    - shard:
        $ref: /aws/app-sre/account.yml
      imageRef: f929a38
"""),
    # As the others are written: by name, or by file.
    (f"{LIST}\n    - shard: ter-int-dev\n      disabled: true\n", "app-sre",
     f"""{LIST}
    - shard: ter-int-dev
      disabled: true
    - shard: app-sre
      imageRef: f929a38
"""),
    # An override that is there keeps what it says.
    (f"{LIST}\n    - shard: app-sre # ours\n      disabled: true\n",
     "app-sre", f"""{LIST}
    - shard: app-sre # ours
      disabled: true
      imageRef: f929a38
"""),
    (f"{LIST}\n    - imageRef: '1234567' # c\n      shard: app-sre\n",
     "app-sre",
     f"{LIST}\n    - imageRef: 'f929a38' # c\n      shard: app-sre\n"),
    # Within brackets.
    ("  sharding: {strategy: per-aws-account}\n", "app-sre",
     f"  sharding: {{strategy: per-aws-account, shardSpecOverrides: {BY_FILE}}}\n"),
    (f"{LIST} []\n", "app-sre", f"{LIST} {BY_FILE}\n"),
    # Static shards go by number; nothing split is one shard.
    ("  sharding:\n    strategy: static\n    shards: 3\n", "2", """  sharding:
    strategy: static
    shards: 3
    shardSpecOverrides:
    - shard: 2
      imageRef: f929a38
"""),
    ("", "0", """  sharding:
    shardSpecOverrides:
    - shard: 0
      imageRef: f929a38
"""),
    # The years in which each override named its account and its strategy.
    (f"  shardSpecOverride:\n  - shardingStrategy: per-aws-account\n    awsAccount: {REF}\n"
     "    imageRef: bbbbbbb\n" % "ter-int-dev", "app-sre", """  shardSpecOverride:
  - shardingStrategy: per-aws-account
    awsAccount: {$ref: /aws/ter-int-dev/account.yml}
    imageRef: bbbbbbb
  - shardingStrategy: per-aws-account
    awsAccount:
      $ref: /aws/app-sre/account.yml
    imageRef: f929a38
"""),
]  # fmt: skip


@pytest.mark.parametrize("before, shard, after", PINS)
def test_a_pin_is_written_as_its_neighbours_are(before: str, shard: str, after: str) -> None:
    """And the bundle reads it as that shard's image."""
    assert after_pin(before, shard) == after
    assert aims(after)[shard].image == "f929a38"


def test_what_yaml_takes_for_a_number_is_quoted() -> None:
    """Seven digits are a commit, whatever they look like."""
    for image in ("1234567", "12e4567", "0302051"):
        written = after_pin(BLOCK, "app-sre", image=image)
        assert f"imageRef: '{image}'\n" in written
        assert aims(written)["app-sre"].image == image


TWO = f"{LIST}\n    - awsAccounts: [{REF}, {REF}]\n      imageRef: bbbbbbb\n"
REFUSED = [
    (TWO % ("app-sre", "ter-int-dev"), "app-sre",
     'integrations/it.yml:9: one override for several: "ter-int-dev" would change too'),
    (f"{LIST}\n", "app-sre",
     "integrations/it.yml:8: shardSpecOverrides has no value; drop the line"),
    (f"{LIST} [{OURS}]\n  shardSpecOverrides: [{OURS}]\n", "app-sre", "list the same; keep one"),
]  # fmt: skip


@pytest.mark.parametrize("before, shard, words", REFUSED)
def test_where_no_pin_can_be_written_the_line_is_named(before: str, shard: str, words: str) -> None:
    """With what to do first."""
    with pytest.raises(UserError) as caught:
        after_pin(before, shard)
    assert words in str(caught.value)


def test_an_override_for_several_moves_if_all_of_them_are_meant() -> None:
    """One line for both, once."""
    before = TWO % ("app-sre", "ter-int-dev")
    assert after_pin(before, "app-sre", "ter-int-dev") == before.replace("bbbbbbb", "f929a38")


UNPINS = [
    # Nothing but its shard is left: the override goes, then the list, then what held only that.
    (f"{LIST}\n    - shard: app-sre\n      imageRef: bbbbbbb\n", BLOCK),
    ("  sharding:\n    shardSpecOverrides:\n    - shard: 0\n      imageRef: bbbbbbb\n", ""),
    (f"{LIST}\n{NOTED}{OTHER}", f"{LIST}\n{OTHER}"),
    # What else it says stays.
    (f"{LIST}\n{NOTED}      disabled: true\n",
     f"{LIST}\n    - shard: app-sre\n      disabled: true\n"),
    # A note that stands for two stays with the other one.
    (f"{LIST} [{OURS}, {THEIRS}]  # tidegate: x\n", f"{LIST} [{THEIRS}]  # tidegate: x\n"),
]  # fmt: skip


def test_several_go_and_the_others_keep_their_places() -> None:
    """Numbers of items move as items go; no other is taken for one of them."""
    first = "    - shard: app-int-example-01\n      imageRef: bbbbbbb\n"
    before = f"{LIST}\n{first}{NOTED}{OTHER}"
    assert after_unpin(before, "app-int-example-01", "app-sre") == f"{LIST}\n{OTHER}"
    assert after_unpin(before, "app-sre", "ter-int-dev") == f"{LIST}\n{first}"


def test_a_shard_whose_file_holds_others_goes_by_its_name() -> None:
    """No override can name it by file."""
    both = "---\n$schema: /aws/account-1.yml\nname: x\n---\n$schema: /app-sre/x-1.yml\nname: b\n"
    bundle = bundle_of({**files(BLOCK), "aws/both.yml": both.encode()})
    known = {aim.shard: aim for aim in aims_of(estate(bundle), INTEGRATIONS.of(bundle).inventories)}
    assert (known["x"].ref, known["app-sre"].ref) == ("", "/aws/app-sre/account.yml")
    pin = ImagePin(shard="x", image="f929a38", ref=known["x"].ref)
    (edited,) = pinned(files(BLOCK).__getitem__, [(known["x"].place, pin)])
    assert b"    - shard: x\n      imageRef: f929a38\n" in edited.data


@pytest.mark.parametrize("before, after", UNPINS)
def test_what_is_left_with_nothing_to_say_goes_along(before: str, after: str) -> None:
    """The first shard is unpinned."""
    assert after_unpin(before, min(aims(before), key=lambda name: name != "app-sre")) == after


def test_a_note_says_by_which_user_until_when_and_why() -> None:
    """Whatever is in a reason stays on one line, and is read again."""
    note = PinNote(by="ann: x", reason="it's #4:\n  see https://x/y", until="2026-12-01")
    assert note.text == "pinned by ann x until 2026-12-01: it's #4: see https://x/y"
    read = read_note(note.text)
    assert read is not None
    assert (read.by, read.until, read.reason) == ("ann x", "2026-12-01", "it's #4: see https://x/y")
    assert read.expires_at is not None
    assert format_second(read.expires_at) == "2026-12-02T00:00:00Z"
    for text in ("", "x", "pinned by ann", "pinned by ann until soon: x", "pinned by : x"):
        assert read_note(text) is None
    timed = read_note("pinned by ann until 2026-12-01T12:00:00Z: x")
    assert timed is not None
    assert timed.expires_at == parse_instant("2026-12-01T12:00:00Z")


def test_a_pin_whose_time_is_over_is_found_by_the_clock() -> None:
    """From the end of its day on; with whom to ask and what to write."""
    note = PinNote(by="ann", reason="why", until="2026-12-01").text
    text = after_pin(BLOCK, "app-sre", note=note)
    bundle = bundle_of(files(text))
    assert bundle.findings == ()
    end = parse_instant("2026-12-02T00:00:00Z")
    assert list(overdue(INTEGRATIONS.of(bundle).integrations, Instant(end - SECOND))) == []
    (late,) = overdue(INTEGRATIONS.of(bundle).integrations, end)
    assert (late.file, late.line, late.rule, late.severity) == (FILE, 9, "expired-pin", "warning")
    assert late.message == "app-sre was to stay on f929a38 until 2026-12-01 (ann: why)"
    assert "tidegate unpin terraform-resources --shard app-sre --environment" in late.remedy


def test_a_pin_equal_to_the_default_is_reported_unless_it_says_why() -> None:
    """Who pins the many before a promotion has 24 of them, on purpose."""
    bare = after_pin(BLOCK, "app-sre", image="aaaaaaa")
    assert [each.remedy for each in bundle_of(files(bare)).findings] == ["drop it"]
    noted = after_pin(BLOCK, "app-sre", image="aaaaaaa", note="pinned by ann: soon")
    assert bundle_of(files(noted)).findings == ()
    odd = after_pin(BLOCK, "app-sre", note="for now")
    (found,) = bundle_of(files(odd)).findings
    assert "does not name its author" in found.message
    assert found.remedy.startswith("write # tidegate: pinned by NAME")


def test_a_line_that_several_share_is_nobodys_alone() -> None:
    """Who pins one of them again is notified of the other's note."""
    line = "[{shard: app-sre, imageRef: bbbbbbb}, {shard: ter-int-dev, imageRef: bbbbbbb}]"
    before = f"{LIST} {line}  # tidegate: pinned by bob: his\n"
    after = after_pin(before, "app-sre", note="pinned by ann: hers")
    old, new = (estate(bundle_of(files(text))) for text in (before, after))
    meant = [aims(before)["app-sre"].at]
    assert touched(old, new, meant) == ["the note of terraform-resources/ter-int-dev"]
    assert touched(old, new, [aim.at for aim in aims(before).values()]) == []


def test_shards_are_found_by_any_of_their_names() -> None:
    """By the account, the target and the workload; a misspelt one gets the nearest."""
    every = list(aims(BLOCK).values())
    problems = Problems()
    for name in (
        "app-sre",
        "terraform-resources/app-sre",
        "qontract-reconcile-terraform-resources-app-sre",
    ):
        assert [aim.shard for aim in chosen(every, [name], problems, "--shard")] == ["app-sre"]
    assert not problems.errors
    chosen(every, ["app-srv"], problems, "--shard")
    assert [each.text() for each in problems.errors] == [
        '--shard: no shard "app-srv"; did you mean "app-sre"?'
    ]


@pytest.mark.parametrize(
    "runs, words",
    [
        ("mixed", "its sub-shards run different images"),
        ("", "what it runs is not known"),
        ("quay.io/me/fork:1", "which is not of quay.io/app-sre/qontract-reconcile"),
    ],
)
def test_what_cannot_be_kept_is_said(runs: str, words: str) -> None:
    """A tag or a digest of the same repository can; nothing else fits an override."""
    problems = Problems()
    aim = aims(BLOCK)["app-sre"]
    assert image_to_keep(aim, "ed21267@sha256:0", problems) == "ed21267@sha256:0"
    assert not problems.errors
    assert image_to_keep(aim, runs, problems) == ""
    assert words in problems.errors[0].message
