"""Files with a trap in each: what is edited, and what comes out to the byte, or why nothing does.

A folder of `tests/edits` has the file before, what is asked of it with the trap in words, and the
file after; or, where it is refused, what is said. `--rewrite` writes what comes out now: read it.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.edit.edit import edit, found, read_original
from tidegate.edit.edits import AddField, AddItem, Edit, LineNote, Remove, Replace
from tidegate.edit.place import KeyPlace, LinePlace, Place, YamlPlace, parse_path
from tidegate.model.errors import StaleError, UserError

TRAPS = sorted((Path(__file__).parents[1] / "edits").glob("*/edits.json"))
assert TRAPS, "no trap found: the test would pass on nothing"


def place(spelt: dict[str, str]) -> Place:
    """A place as the trap files spell it."""
    ((kind, text),) = spelt.items()
    kinds: dict[str, type[Place]] = {"path": YamlPlace, "key": KeyPlace, "line": LinePlace}
    return kinds[kind](text)


def asked(spelt: dict[str, Any]) -> Edit:
    """An edit as the trap files spell it."""
    if "replace" in spelt:
        return Replace(place(spelt["replace"]), spelt["value"])
    kinds = ("remove", "add_field", "note", "add_item")
    where = place(next(spelt[kind] for kind in kinds if kind in spelt))
    assert isinstance(where, YamlPlace)
    if "note" in spelt:
        return LineNote(where, "tidegate:", spelt["text"])
    if "remove" in spelt:
        return Remove(where)
    if "add_field" in spelt:
        return AddField(where, spelt["name"], spelt["value"])
    return AddItem(where, spelt["value"])


@pytest.mark.parametrize("trap", TRAPS, ids=lambda path: path.parent.name)
def test_the_trap_is_not_stepped_into(trap: Path, request: pytest.FixtureRequest) -> None:
    """The file comes out as it was read and found good, or is refused in the words that were."""
    told = msgspec.json.decode(trap.read_bytes())
    (before,) = trap.parent.glob("before*")
    after = before.with_name(before.name.replace("before", "after"))
    refused = before.with_name("refused.txt")
    original = read_original(before.name, before.read_bytes())
    try:
        out, path = edit(original, [asked(each) for each in told["edits"]]).data, after
    except UserError as error:
        out, path = f"{error}\n".encode(), refused
    if request.config.getoption("--rewrite"):
        path.write_bytes(out)
    assert path.read_bytes() == out
    assert not (after.exists() and refused.exists())


def test_a_file_that_changed_meanwhile_is_not_overwritten() -> None:
    """The bytes an edit was made from have to be there still, whatever they say."""
    edited = edit(read_original("x.yml", b"a: b\n"), [Replace(YamlPlace("a"), "c")])
    assert edited.onto(b"a: b\n") == b"a: c\n"
    for moved in (b"a: b", b"a: b\r\n", b"a: c\n", b"\xef\xbb\xbfa: b\n", b""):
        with pytest.raises(StaleError, match=r"^x\.yml changed since it was read: .*again$"):
            edited.onto(moved)


def test_edits_are_made_one_after_the_other() -> None:
    """A later edit finds what an earlier one made; lines are numbered as just before it."""
    added = AddField(YamlPlace(""), "list", [{"name": "a", "ref": "1"}])
    edits: list[Edit] = [added, Replace(YamlPlace("list[name==a].ref"), "2")]
    edits.append(Remove(YamlPlace("x")))
    edited = edit(read_original("x.yml", b"x: y\n"), edits)
    assert edited.data == b"list:\n- name: a\n  ref: '2'\n"
    assert [(each.line, each.old, each.new) for each in edited.changes[1:]] == [
        (4, "'1'", "'2'"),
        (1, "y", ""),
    ]


def test_a_search_finds_every_value_of_a_key_with_its_line() -> None:
    """Nothing found is an answer; a file without the key need not even be YAML."""
    text = b"a: {k: 1}\nb:\n- k: 'x'\n"
    told = [(e.line, e.value, e.written) for e in found(read_original("x", text), KeyPlace("k"))]
    assert told == [(1, "1", "1"), (3, "x", "'x'")]
    assert found(read_original("x", b"{% if %}"), KeyPlace("k")) == ()
    assert found(read_original("x", b"A=1\n"), LinePlace("B=")) == ()


@pytest.mark.parametrize(
    "path", ["a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[x=1]", "a[x==]", "a]b", "a[0]b", "a b.c"]
)
def test_what_is_no_path_is_said_to_be_none(path: str) -> None:
    """The message shows the path and where it stops being one."""
    with pytest.raises(UserError, match="is no path from its character"):
        parse_path(path)


@pytest.mark.parametrize("value", [1.5, b"x", {1: 2}, "\ud800", [object()]])
def test_a_value_that_cannot_be_written_is_refused(value: Any) -> None:
    """Only texts, whole numbers, true, false and null are written, in objects and lists."""
    with pytest.raises(UserError, match=r"^x: the value for the document"):
        edit(read_original("x", b"a: b\n"), [AddField(YamlPlace(""), "k", value)])


def test_a_key_is_removed_wherever_it_stands() -> None:
    """In a block and in brackets, one within the other; not where it is all there is in a block."""
    text = b"a: {k: 1, x: 2}\nb:\n- k:\n    k: 1\n    y: 2\n  z: 3\n"
    assert (
        edit(read_original("x", text), [Remove(KeyPlace("k"))]).data == b"a: {x: 2}\nb:\n- z: 3\n"
    )
    with pytest.raises(UserError, match=r"^x:2: every k: the last one there; remove what"):
        edit(read_original("x", b"a:\n  k: 1\n"), [Remove(KeyPlace("k"))])
