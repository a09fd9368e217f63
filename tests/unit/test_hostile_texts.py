"""Texts made to hurt: each is refused with its line, wherever a document comes in; none ends us."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from tidegate.bundle.leaf import schemas_in
from tidegate.cli.main import cli
from tidegate.documents.files import read_document
from tidegate.documents.line import parse_line
from tidegate.documents.strict_yaml import (
    DIGITS_MAX,
    lines_of,
    read_documents,
    read_value,
    read_yaml,
)
from tidegate.documents.yaml_bounds import DEPTH_MAX, TEXT_BYTES_MAX
from tidegate.edit.tree import documents
from tidegate.journal.lines import read_lines
from tidegate.kubernetes.client.access import contexts
from tidegate.model.errors import TidegateError, UserError
from tidegate.model.json_text import decode_json, json_decoder

SRC = Path(__file__).parents[2] / "src" / "tidegate"
DEPTHS = (1_000, 40_000)


def _bomb(levels: int) -> str:
    more = (f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, levels))
    return "\n".join(("a0: &a0 [x, x, x, x, x, x, x, x, x]", *more))


def _texts() -> Iterator[Any]:
    for n in DEPTHS:
        yield pytest.param("a: " + "[" * n, id=f"brackets-{n}")
        yield pytest.param("a: " + "[" * n + "]" * n, id=f"closed-{n}")
        yield pytest.param("a: " + "{a: " * n, id=f"braces-{n}")
        yield pytest.param("- " * n + "x", id=f"dashes-{n}")
        yield pytest.param("a:\n" + "- " * n + "x", id=f"dashes-below-{n}")
        yield pytest.param("? " * n + "x", id=f"question-marks-{n}")
        yield pytest.param('a: ["' + "]" * n + '", ' + "[" * n + "]" * (n + 1), id=f"quoted-{n}")
        yield pytest.param("a: " + "[ # ]\n " * n, id=f"commented-{n}")
    deep = "\n".join(" " * at + "a:" for at in range(300))
    yield pytest.param(deep, id="indented")
    yield pytest.param("a: &a [*a]", id="itself")
    yield pytest.param("a: &a {b: {c: *a}}", id="itself-further-down")
    yield pytest.param(_bomb(9), id="alias-bomb")


@pytest.mark.parametrize("text", list(_texts()))
def test_a_hostile_yaml_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_yaml("strange.yaml", text)
    assert "strange.yaml:" in str(caught.value)
    *_, (document, traps) = read_documents("strange.yaml", text)
    assert traps
    assert document.data is None or any("nested" in trap.message for trap in traps)
    is_one, _ = read_value(text)
    assert not is_one
    schemas_in(text.encode())
    with pytest.raises(yaml.YAMLError):
        lines_of(text)


@pytest.mark.parametrize("text", list(_texts()))
def test_an_edit_refuses_or_reads_it(text: str) -> None:
    if "&a" in text:  # an alias stays one in an edited file
        assert documents("strange.yaml", text)
        return
    with pytest.raises(UserError, match=r"strange\.yaml"):
        documents("strange.yaml", text)


@pytest.mark.parametrize("text", list(_texts()))
def test_commands_refuse_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "strange.yaml").write_text(text)
    for command in (
        ["why", str(tmp_path / "strange.yaml")],
        ["validate", str(tmp_path)],
        ["simulate", str(tmp_path / "strange.yaml")],
        ["decide", "rollout", str(tmp_path / "strange.yaml")],
    ):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code in (1, 2), (command, done.output, done.exception)
        assert isinstance(done.exception, SystemExit | TidegateError), command


@pytest.mark.parametrize("text", list(_texts()))
def test_a_kubeconfig_is_refused(text: str, tmp_path: Path) -> None:
    if "&a" in text:  # aliases in a kubeconfig are not written out by what reads it
        return
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UserError):
        contexts(str(path))


def test_what_people_write_is_read_however_much_of_it() -> None:
    flows = "\n".join(f"a{at}: [[1], {{b: [x]}}]" for at in range(5_000))
    assert len(read_yaml("x", flows).data) == 5_000
    deep = "\n".join("  " * at + "a:" for at in range(DEPTH_MAX))
    assert read_yaml("x", deep).data
    shared = "base: &b [1, 2, 3]\n" + "\n".join(f"k{at}: *b" for at in range(2_000))
    assert len(read_yaml("x", shared).data) == 2_001
    wide = "text: |\n  line\n" + " " * 300 + "a line far to the right\n"
    assert "far" in read_yaml("x", wide).data["text"]


@pytest.mark.parametrize("depth", [2_000, 200_000])
def test_deep_json_is_a_fault_of_the_text(depth: int, tmp_path: Path) -> None:
    for raw in (b"[" * depth, b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        for read in (decode_json, json_decoder(Any), json_decoder(dict[str, msgspec.Raw])):
            with pytest.raises(msgspec.DecodeError):
                read(raw)
        with pytest.raises(UserError):
            parse_line(raw)
        path = tmp_path / "strange.json"
        path.write_bytes(raw)
        with pytest.raises(UserError):
            read_document(str(path))
        with pytest.raises(TidegateError):
            list(read_lines([raw]))


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    with path.open("wb") as file:
        file.truncate(TEXT_BYTES_MAX + 1)
    with pytest.raises(UserError, match="longer than"):
        read_document(str(path))


@pytest.mark.parametrize("digits", [DIGITS_MAX + 1, 5_000, 100_000])
def test_a_number_without_end_is_a_fault_of_the_text(digits: int, tmp_path: Path) -> None:
    """Python ends with an error of its own on numbers of over 4,300 digits."""
    number, schema = "9" * digits, "$schema: /app-sre/integration-1.yml\n"
    json_text = f'{{"$schema": "/app-sre/integration-1.yml", "name": {number}}}'
    for text in (f"{schema}name: {number}", f"{schema}a:\n- -{number}", json_text):
        with pytest.raises(UserError, match="a number of more than 100 digits; quote it"):
            read_yaml("strange.yaml", text)
        path = tmp_path / "bundle" / "strange.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        done = CliRunner().invoke(cli, ["validate", str(path.parent)])
        assert done.exit_code == 1, done.output
        assert "strange.yml:" in done.output
        assert "a bug in tidegate" not in done.output


def test_every_decoder_of_json_is_made_in_one_place() -> None:
    wrong = [
        f"{path.relative_to(SRC)}: {needle}"
        for path in sorted(SRC.rglob("*.py"))
        if path.name != "json_text.py"
        for needle in (
            "msgspec.json.decode",
            "msgspec.json.Decoder",
            "json.loads",
            "yaml.safe_load",
        )
        if needle in path.read_text(encoding="utf-8")
    ]
    assert not wrong


@pytest.mark.parametrize(
    "command",
    [
        ("freeze", "add", "x", "--everything", "--reason", "r", "--create", "--yes", "--ics"),
        ("status", "--config"),
        ("upgrades", "status", "--upgrades"),
        ("why",),
    ],
)
def test_a_file_without_an_end_is_refused(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device or a pipe that never ends is not read for ever: it is too long, and named."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, [*command, "/dev/zero"])
    assert isinstance(done.exception, UserError | SystemExit)
    assert f"longer than {TEXT_BYTES_MAX} bytes" in f"{done.output} {done.exception}"
