"""An edit changes the data as asked, on its own lines, and can be taken back to the byte.

What came out is judged by PyYAML's own loader, which shares no code with the edits but the parser.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import assume, event, given
from hypothesis import strategies as st

from tests.property.yaml_texts import yaml_texts
from tidegate.edit.edit import edit, found, read_original
from tidegate.edit.edits import AddField, AddItem, Edit, LineNote, Original, Remove, Replace
from tidegate.edit.place import KeyPlace, LinePlace, YamlPlace
from tidegate.model.errors import TidegateError, UserError

VALUES = st.sampled_from(
    ("abc", "f929a38", "1234567", "12e4567", "0302051", "yes", "y", "", " ", "a: b", "it's", "# c",
     '"', "x\ny", "é", "😀", "2026-01-01", "1_0.5", "=", "<<", "- a", "\x85", "null", "22:22",
     "*n1", "&a", "!x", "[", "}", "---", "...", "a,b", "\t", "\\", "?", "0o7", ".inf", "+",
     "\u2028x")
)  # fmt: skip
ADDED = st.one_of(
    VALUES,
    st.sampled_from((1, -5, True, None)),
    st.builds(lambda v: {"shard": {"$ref": "/a.yml"}, "imageRef": v}, VALUES),
    st.builds(lambda v: [v, {"a": [1, v], "b": {}}, []], VALUES),
)
Path = tuple[int | str, ...]


def parsed(text: str) -> list[Any]:
    """Every document as PyYAML reads it, each scalar the text it is, nothing shared."""
    roots = list(yaml.load_all(text, Loader=yaml.CBaseLoader))
    data: list[Any] = json.loads(json.dumps(roots))
    return data


def paths(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a document, with the way there."""
    yield path, data
    pairs = data.items() if isinstance(data, dict) else ()
    for key, each in pairs or (enumerate(data) if isinstance(data, list) else ()):
        yield from paths(each, (*path, key))


def spelt(path: Path) -> str:
    """A way as a place spells it."""
    parts = (f"[{p}]" if isinstance(p, int) else ".'" + p.replace("'", "''") + "'" for p in path)
    return "".join(parts).removeprefix(".")


def as_read(value: Any) -> Any:
    """Added data as the loader above reads it."""
    if isinstance(value, dict):
        return {key: as_read(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_read(each) for each in value]
    return value if isinstance(value, str) else json.dumps(value)


def at(data: Any, path: Path) -> Any:
    """What stands at the end of a way."""
    for step in path:
        data = data[step]
    return data


def original(text: str, bom: bool = False) -> Original:
    """A text as a file that was read."""
    return read_original("x.yml", ("\ufeff" * bom + text).encode())


def made(text: str, *edits: Edit) -> str | None:
    """The text after the edits; None if they were refused in the house's words."""
    try:
        return edit(original(text), edits).data.decode()
    except UserError as error:
        unhelpful = [problem for problem in error.problems if not problem.remedy]
    event("refused")
    assert not unhelpful
    return None


def readable(text: str) -> list[Any]:
    """The documents of a drawn text; one that is no YAML is drawn again."""
    try:
        return parsed(text)
    except (yaml.YAMLError, ValueError, TypeError):
        assume(False)
        raise


def anything(_path: Path, _data: Any) -> bool:
    """Whatever stands in a document."""
    return True


def inside(path: Path, _data: Any) -> bool:
    """All but the document itself."""
    return bool(path)


def roomy(_path: Path, data: Any) -> bool:
    """Lists and objects."""
    return isinstance(data, dict | list)


def plain(path: Path, data: Any) -> bool:
    """Texts; `! x` is the one tag that is refused."""
    return bool(path) and isinstance(data, str) and data != "x"


@st.composite
def worlds(
    draw: st.DrawFn, *, anchors: bool = True, of: Callable[[Path, Any], bool] = anything
) -> tuple[str, int, Path, Any]:
    """A text, and a way to something in one of its documents: to one of those that are wanted."""
    text = draw(yaml_texts(anchors=anchors))
    every = [
        (number, path, data)
        for number, root in enumerate(readable(text))
        for path, data in paths(root)
        if of(path, data)
    ]
    assume(every)
    return text, *draw(st.sampled_from(every))


def split(text: str) -> list[str]:
    """The lines of a text, ends and all, as an editor of files counts them."""
    return text.split("\n")


def same_but_one_line(before: str, after: str) -> bool:
    """Whether the texts differ in one line at most."""
    old, new = split(before), split(after)
    return len(old) == len(new) and sum(a != b for a, b in zip(old, new, strict=True)) <= 1


def only_inserted(short: str, long: str) -> bool:
    """Whether one text is the other with one run of whole lines put in."""
    ends = ("\n", "\r\n")
    size = len(long) - len(short)
    starts = (0, *(i + 1 for i, letter in enumerate(short) if letter == "\n"), len(short))
    runs = ((i, long[i : i + size]) for i in starts)
    return any(
        run.endswith("\n") or (i == len(short) and run.startswith(ends))
        for i, run in runs
        if short[:i] + run + short[i:] == long
    )


@given(worlds(), VALUES)
def test_a_replaced_value_is_the_only_thing_that_changes(
    world: tuple[str, int, Path, Any], value: str
) -> None:
    """One line at most differs, the data is the old with that value, and it can be set back."""
    text, number, path, _ = world
    place = YamlPlace(spelt(path), number)
    after = made(text, Replace(place, value))
    if after is None:
        return
    intended = readable(text)
    at(intended[number], path[:-1])[path[-1]] = value
    assert parsed(after) == intended, after
    assert same_but_one_line(text, after)
    assert value_in_yaml_11(after, intended, number, path) == value
    (was,) = found(original(text), place)
    if not was.written.startswith("*"):
        assert made(after, Replace(place, was.value, was.written)) == text


def value_in_yaml_11(text: str, data: list[Any], number: int, path: Path) -> Any:
    """What a reader of YAML 1.1 makes of the value at the end of a way."""
    node = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))[number]
    here = data[number]
    for step in path:
        names = list(here) if isinstance(here, dict) else range(len(here))
        part = node.value[list(names).index(step)]
        node, here = (part[1] if isinstance(part, tuple) else part), here[step]
    assert node.tag.endswith(":str"), node
    return node.value


@given(worlds(of=roomy), st.sampled_from(("new", "q k", "yes", "12", "a: b")), ADDED)
def test_what_is_added_can_be_removed_without_a_trace(
    world: tuple[str, int, Path, Any], name: str, value: Any
) -> None:
    """Adding puts whole lines in, or a stretch into one; removing that is the file as it was."""
    text, number, path, data = world
    assume(isinstance(data, list) or name not in data)
    place = YamlPlace(spelt(path), number)
    adding: Edit = AddItem(place, value)
    last: int | str = len(data)
    if isinstance(data, dict):
        adding, last = AddField(place, name, value), name
    after = made(text, adding)
    if after is None:
        return
    intended = readable(text)
    grown = at(intended[number], path)
    grown.append(as_read(value)) if isinstance(grown, list) else grown.update(
        {name: as_read(value)}
    )
    assert parsed(after) == intended, after
    assert same_but_one_line(text, after) or only_inserted(text, after)
    assert made(after, Remove(YamlPlace(spelt((*path, last)), number))) == text


@given(worlds(of=inside))
def test_a_removal_takes_its_lines_and_no_other(world: tuple[str, int, Path, Any]) -> None:
    """What is left are the lines around it, and the data without it."""
    text, number, path, _ = world
    after = made(text, Remove(YamlPlace(spelt(path), number)))
    if after is None:
        return
    intended = readable(text)
    del at(intended[number], path[:-1])[path[-1]]
    assert parsed(after) == intended
    # A field beside a dash makes room for the next one, so that the stretch ends in a line.
    start = next((i for i, letter in enumerate(after) if text[i] != letter), len(after))
    beside = text[: start + 1].split("\n")[-1].lstrip().startswith("-")
    assert any(text[:i] + text[i + len(text) - len(after) :] == after for i in range(start + 1))
    assert same_but_one_line(text, after) or only_inserted(after, text) or beside


@given(worlds(), st.sampled_from(("why", "a: b", "# c", "it's", "é 'x")))
def test_a_note_changes_no_data_and_goes_without_a_trace(
    world: tuple[str, int, Path, Any], note: str
) -> None:
    """One line gets longer at its end; another note takes its place; none is the file as it was."""
    text, number, path, _ = world
    place = YamlPlace(spelt(path), number)
    after = made(text, LineNote(place, "tidegate:", note))
    if after is None:
        return
    assert parsed(after) == readable(text)
    assert same_but_one_line(text, after)
    assert f"  # tidegate: {note}" in after
    assert made(after, LineNote(place, "tidegate:", "other")) == made(
        text, LineNote(place, "tidegate:", "other")
    )
    assert made(after, LineNote(place, "tidegate:", "")) == text


@given(worlds(anchors=False, of=plain), VALUES)
def test_a_value_on_one_line_is_always_replaced(
    world: tuple[str, int, Path, Any], value: str
) -> None:
    """Nothing of how a file is written is a reason to refuse, but tags and texts over lines."""
    text, number, path, _ = world
    (was,) = found(original(text), YamlPlace(spelt(path), number))
    assume("\n" not in was.written)
    edited = edit(original(text), [Replace(YamlPlace(spelt(path), number), value)])
    assert len(edited.changes) == 1


@given(worlds(anchors=False, of=roomy), st.sampled_from(("abc", "1234567")))
def test_there_is_always_room_for_one_more(world: tuple[str, int, Path, Any], value: str) -> None:
    """Lists and objects take another, unless a block of text would gain its missing last line."""
    text, number, path, data = world
    assume(text.endswith("\n"))
    place = YamlPlace(spelt(path), number)
    more: Edit = AddItem(place, value)
    if isinstance(data, dict):
        more = AddField(place, "new", value)
    assert len(edit(original(text), [more]).changes) == 1


@given(yaml_texts(), VALUES, st.booleans())
def test_every_value_of_a_key_changes_wherever_it_stands(text: str, value: str, bom: bool) -> None:
    """After the edit no other value of the key is left, and other values are as they were."""
    roots = readable(text)
    try:
        edited = edit(original(text, bom), [Replace(KeyPlace("ref"), value)]).data.decode()
    except UserError:
        return
    assert edited.startswith("\ufeff") == bom
    assert parsed(edited.removeprefix("\ufeff")) == [renamed(root, value) for root in roots]


def renamed(data: Any, value: str) -> Any:
    """The data with another value for each `ref`."""
    if isinstance(data, list):
        return [renamed(each, value) for each in data]
    if isinstance(data, dict):
        return {k: value if k == "ref" else renamed(v, value) for k, v in data.items()}
    return copy.copy(data)


LINES = st.sampled_from(
    ("", "# export T=c", "export TT=1", " export T=2", "export T='a b' # c", 'export T="q"',
     "export T=", "export T=f929a38  ", "export T=x\t# é", "{% if %}",
     "\u2028export T=3", "T=4", "exportT=5")
)  # fmt: skip


@given(
    st.lists(LINES, max_size=6),
    st.sampled_from(("\n", "\r\n")),
    st.booleans(),
    st.sampled_from(("1234567", "f929a38", "a b", "")),
)
def test_a_line_changes_behind_its_prefix_only(
    lines: list[str], newline: str, ended: bool, value: str
) -> None:
    """Every line that sets it has the value, in its quotes; all others are as they were."""
    text, place = newline.join(lines) + newline * ended, LinePlace("export T=")
    were = found(original(text), place)
    assert [each.line for each in were] == [
        at
        for at, line in enumerate(lines, start=1)
        if line.strip(" ").removeprefix("export ").startswith("T=")
    ]
    assume(were)
    after = edit(original(text), [Replace(place, value)]).data.decode()
    assert {each.value for each in found(original(after), place)} == {value}
    for at, (old, new) in enumerate(zip(split(text), split(after), strict=True), start=1):
        assert old == new or at in {each.line for each in were}
    if len(were) == 1:
        back = edit(original(after), [Replace(place, were[0].value, were[0].written)])
        assert back.data.decode() == text


PIECES = st.sampled_from(
    ["a", "b: ", "- ", "  ", "\n", "\n", "\r\n", ": ", "#", '"', "'", "|\n", ">-\n", "a: b\n", "[",
     "]", "{", "}", ", ", "1", "yes", "&a ", "*a", "!!str ", "---\n", "...\n", "<<: ", "\t", "\r",
     "%", "? ", "-", "\\", "\u2028", "\ufeff", "  - ", "ref: ", "ref=", "export T=", "$(", "\x00"]
)  # fmt: skip
PLACES = st.one_of(
    st.builds(YamlPlace, st.sampled_from(("", "a", "b", "[0]", "a.b", "[*]", "a[b==1]", "[", "."))),
    st.builds(YamlPlace, st.text(alphabet="ab.[]='\"*0& ", max_size=8)),
    st.builds(KeyPlace, st.sampled_from(("a", "b", "ref", ""))),
)


@given(st.lists(PIECES, max_size=14).map("".join), PLACES, st.one_of(VALUES, ADDED))
def test_no_text_and_no_edit_raises_but_in_the_houses_words(
    text: str, place: Any, value: Any
) -> None:
    """Whatever stands in a file, an edit is made or refused; and what is made is YAML."""
    edits: list[Edit] = [Replace(place, value), Replace(place, value, "x"), Remove(place)]
    edits += [AddField(place, "n", value), AddItem(place, value), LineNote(place, "m:", "n")]
    edits += [Replace(LinePlace(p), value) for p in ("export T=", "ref=", "ref: ", "a", "")]
    for each in edits:
        try:
            after = edit(original(text), [each]).data.decode()
        except TidegateError:
            continue
        if not isinstance(each.place, LinePlace):
            assert list(yaml.parse(after, Loader=yaml.CLoader)), "what came out is YAML"


@pytest.mark.parametrize("junk", [b"\xff", b"a: \xc3(\n", b"\xef\xbb\xbf\xef\xbb\xbfa: b\n"])
def test_what_is_no_text_is_refused(junk: bytes) -> None:
    """Bytes that are not UTF-8, and a second byte order mark, are named with their line."""
    with pytest.raises(UserError, match=r"^x\.yml:1: "):
        read_original("x.yml", junk)
