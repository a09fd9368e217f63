"""Pinning what runs changes no workload; unpinning gives the files back as they were.

Over integrations as people write them: every place `sharding` and its overrides have stood in, in
blocks and in brackets, by file, by name and by number, with comments and CRLF.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from tests.bundles import DEFAULT_TAG, INVENTORY, PRODUCTION, TESTING, MemoryTree, bundle_of
from tidegate.bundle.section import Bundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.kinds.integrations.app.pins.edits import ImagePin, pinned, unpinned
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.aims import PinTarget, aims_of, restarted, touched
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.review.notes import PinNote
from tidegate.kinds.integrations.core.workloads.estate import Estate, estate_of
from tidegate.machine.file_cache import NoCache
from tidegate.model.problem import Problems
from tidegate.wiring.bundles import read_bundle

FILE = "integrations/it.yml"
NOTE = PinNote(by="ann", reason="it's: #4", until="2026-12-01").text
ACCOUNTS = ("app-int-example-01", "app-sre", "ter-int-dev")
WHOM = ("{$ref: /aws/%s/account.yml}", "%s", "'%s'")
SAYS = (
    "disabled: true",
    "subSharding: {shards: 2}",
    "imageRef: bbbbbbb",
    "imageRef: '1234567' # c",
)


class Pen:
    """Writes one entry of `managed`."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return self.draw(st.sampled_from(choices))

    def comment(self) -> str:
        """Sometimes what people leave at the end of a line."""
        return str(self.one("", "", " # c", "  "))

    def entry(self, namespace: str) -> list[str]:
        """A place an integration runs in."""
        lines = [f"- namespace: {{$ref: {namespace}}}", f"  spec:{self.comment()}"]
        lines.append("    resources: {requests: {cpu: 100m, memory: 1Gi}}")
        lines += [
            f"    {each}" for each in self.one((), ("imageRef: aaaaaaa",), ("cron: '* * * * *'",))
        ]
        lines += [f"    {each}" for each in self.one((), ("environmentAware: true",))]
        return lines + self.sharding()

    def sharding(self) -> list[str]:
        """How it is split, wherever that may stand."""
        kind = self.one("none", "static", "spec", "brackets", "block", "block", "old")
        alone = {
            "none": [],
            "static": [f"  sharding: {{strategy: static, shards: {self.one(1, 3)}}}"],
            "spec": ["    shardingStrategy: per-aws-account"],
            "brackets": ["  sharding: {strategy: per-aws-account}" + self.comment()],
        }
        if kind in alone:
            return alone[kind]
        head = ["  sharding:" + self.comment(), "    strategy: per-aws-account" + self.comment()]
        name = "shardSpecOverrides"
        indent = 4
        if kind == "old":
            head, name, indent = ["    shardingStrategy: per-aws-account"], "shardSpecOverride", 2
        whom = self.draw(st.lists(st.sampled_from(ACCOUNTS), unique=True, max_size=3))
        if not whom:
            return head
        form = self.one(*WHOM)
        pad = " " * indent + self.one("", "  ")
        lines = [*head, f"{' ' * indent}{name}:{self.comment()}"]
        for each in whom:
            lines += [pad + line for line in self.override(form % each)]
        return lines

    def override(self, whom: str) -> list[str]:
        """What is different for one shard."""
        says = self.one(*SAYS)
        if "#" not in says and self.one(True, False):
            return [f"- {{shard: {whom}, {says}}}{self.comment()}"]
        fields = [f"shard: {whom}{self.comment()}", says]
        if self.one(True, False):
            fields.reverse()
        return [f"- {fields[0]}", f"  {fields[1]}"]


@st.composite
def files(draw: st.DrawFn) -> dict[str, bytes]:
    """A bundle with one integration in one or two places."""
    pen = Pen(draw)
    lines = ["---", "$schema: /app-sre/integration-1.yml", "name: terraform-resources", "managed:"]
    for namespace in pen.one((PRODUCTION,), (PRODUCTION, TESTING)):
        lines += pen.entry(namespace)
    lines += pen.one((), ("# the end",), ("description: x",))
    newline = pen.one("\n", "\n", "\r\n")
    text = newline.join(lines) + pen.one(newline, newline, "")
    parameters = pen.one(
        "parameters: {IMAGE_TAG: c0ffee0}",
        "parameters: {IMAGE_TAG: ddddddd}",
        "parameters: {IMAGE_TAG: c0ffee0, IMAGE_DIGEST: 'sha256:0'}",
    )
    environment = "products/environments/production.yml"
    rest = {path: each.encode() for path, each in INVENTORY.items()}
    rest[environment] = rest[environment].replace(DEFAULT_TAG.encode(), f"{parameters}\n".encode())
    return {**rest, FILE: text.encode()}


def estate(bundle: Bundle) -> Estate:
    """What a bundle results in, and nothing is wrong with it."""
    problems = Problems()
    declared = INTEGRATIONS.of(bundle)
    found = estate_of(declared.integrations, declared.inventories, problems)
    assert not problems.errors
    assert not bundle.errors
    return found


def written(
    files: dict[str, bytes], aims: Sequence[PinTarget], image: str | None
) -> dict[str, bytes]:
    """The files with these shards pinned, each to what it wants or to an image."""
    asked = [
        (
            aim.place,
            ImagePin(
                shard=aim.shard,
                image=image or aim.place.wanted(aim.unit),
                ref=aim.ref,
                note=None if aim.image else NOTE,
            ),
        )
        for aim in aims
    ]
    made = pinned(files.__getitem__, asked)
    return {**files, **{each.name: each.data for each in made}}


def read(files: dict[str, bytes], new: dict[str, bytes]) -> Bundle:
    """The bundle once some files are written."""
    changed = {path: data for path, data in new.items() if files[path] != data}
    return read_bundle(EditedTree(MemoryTree(files), changed), NoCache())


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, bytes], Bundle, list[PinTarget]]:
    """A sound bundle, and some of its shards."""
    found = draw(files())
    bundle = bundle_of(found)
    assert not bundle.errors, bundle.findings
    every = aims_of(estate(bundle), INTEGRATIONS.of(bundle).inventories)
    return (
        found,
        bundle,
        draw(st.lists(st.sampled_from(every), min_size=1, unique_by=lambda a: a.at)),
    )


@given(worlds())
def test_pinning_what_is_wanted_changes_no_workload(
    world: tuple[dict[str, bytes], Bundle, list[PinTarget]],
) -> None:
    """Not one object differs, and every selected shard has an image of its own, with its note."""
    found, bundle, aims = world
    after = read(found, written(found, aims, None))
    assert effects_of(estate(bundle), estate(after)).effects == ()
    new = {aim.at: aim for aim in aims_of(estate(after), INTEGRATIONS.of(after).inventories)}
    for aim in aims:
        assert new[aim.at].image == aim.place.wanted(aim.unit)
        override = new[aim.at].override
        assert aim.image or (override is not None and override.note == NOTE)


@given(worlds(), st.sampled_from(("f929a38", "1234567", "12e4567", "0302051")))
def test_pinning_moves_those_and_no_other(
    world: tuple[dict[str, bytes], Bundle, list[PinTarget]], image: str
) -> None:
    """Whatever the tag looks like to YAML; and only who got another image starts anew."""
    found, bundle, aims = world
    after = read(found, written(found, aims, image))
    before, now = estate(bundle), estate(after)
    assert touched(before, now, [aim.at for aim in aims]) == []
    new = {aim.at: aim for aim in aims_of(now, INTEGRATIONS.of(after).inventories)}
    assert {new[aim.at].place.wanted(new[aim.at].unit) for aim in aims} == {image}
    moved = {(p.place.name, p.unit) for p in restarted(before, now, {}, new) if p.place}
    assert moved <= {aim.at for aim in aims if aim.place.wanted(aim.unit) != image}
    runs_it = dict.fromkeys((aim.at for aim in aims), image)
    if not any(aim.place.managed.spec.get("environmentAware") for aim in aims):
        assert restarted(before, now, runs_it, new) == []


@given(worlds())
def test_pin_then_unpin_is_the_file_as_it_was(
    world: tuple[dict[str, bytes], Bundle, list[PinTarget]],
) -> None:
    """To the byte, for what had no image before."""
    found, _, aims = world
    aims = [aim for aim in aims if not aim.image]
    assume(aims)
    files = written(found, aims, "f929a38")
    assert files != found
    bundle = bundle_of(files)
    new = {aim.at: aim for aim in aims_of(estate(bundle), INTEGRATIONS.of(bundle).inventories)}
    asked = [(new[aim.at].place, aim.shard) for aim in aims]
    made = unpinned(files.__getitem__, asked)
    event(f"{len(aims)} pinned")
    assert {**files, **{each.name: each.data for each in made}} == found
