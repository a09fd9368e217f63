"""A bundle is what its files say: not their order, not who keeps them; and nothing crashes it."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bundles import MemoryTree, bundle_of
from tidegate.wiring.bundles import read_bundle

ROOT = Path(__file__).parents[2] / "examples" / "app-interface"
FILES = {
    path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted(ROOT.rglob("*.y*ml"))
}
JUNK = st.sampled_from(
    [b"", b"\n", b"- ", b": ", b"{", b"]", b"\xff", b"\t", b"null", b"4.10", b"yes", b"&a [*a]",
     b"$ref: /x.yml", b"\x00", b"[[[[", b"!!x y", b"9" * 400, b"1e999", b"---\n", b"a: b\n"]
)  # fmt: skip


class Memory:
    """A cache that keeps what it gets."""

    shared = False

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self.values[key] for key in keys if key in self.values}

    def put(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(lots: random.Random) -> None:
    """Integrations, inventories and findings are the same whatever was listed first."""
    paths = list(FILES)
    lots.shuffle(paths)
    assert bundle_of({path: FILES[path] for path in paths}) == bundle_of(FILES)


@settings(max_examples=150)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_garbage_is_reported_with_its_line(path: str, data: st.DataObject) -> None:
    """Whatever was typed into a file: every finding has a file, a line that is there, and words."""
    raw = FILES[path]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        raw = raw[:at] + data.draw(JUNK) + raw[at + data.draw(st.integers(0, 9)) :]
    files = {**FILES, path: raw}
    for each in bundle_of(files).findings:
        assert each.file in files
        lines = files[each.file].decode(errors="replace").splitlines() or [""]
        assert 1 <= each.line <= len(lines) + 1
        assert each.column >= 1
        assert each.message


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(raw: bytes) -> None:
    """A file may hold anything."""
    assert bundle_of({"a.yml": raw}).files == 1


@settings(max_examples=25)
@given(st.sampled_from(sorted(FILES)), JUNK)
def test_what_was_kept_changes_nothing(path: str, junk: bytes) -> None:
    """With everything kept, something kept and nothing kept, the answer is one."""
    kept = Memory()
    before = read_bundle(MemoryTree(FILES), kept)
    assert read_bundle(MemoryTree(FILES), kept) == before == bundle_of(FILES)
    changed = {**FILES, path: FILES[path] + junk}
    assert read_bundle(MemoryTree(changed), kept) == bundle_of(changed)
    assert read_bundle(MemoryTree(FILES), kept) == before
