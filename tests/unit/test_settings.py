"""Settings as people write them: what is read, what is refused, and in which words."""

from pathlib import Path

import pytest

from tidegate.kinds.integrations.cli.site import removals_of
from tidegate.model.errors import UserError
from tidegate.model.removal import removals_max
from tidegate.model.time import SECOND
from tidegate.settings.setting_reader import split_address
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Settings, load, revealed, shown


def problems(error: UserError) -> list[str]:
    """What an error says, a line a problem."""
    return [each.text() for each in error.problems]


def written(folder: Path, text: str) -> str:
    """A settings file."""
    file = folder / "tidegate.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_table_and_the_type_know_the_same_settings() -> None:
    """No setting can be written that no one reads, and none is read that cannot be written."""
    assert {setting.field for setting in TABLE.values()} == set(Settings.__struct_fields__)


def test_every_default_can_be_written() -> None:
    """What `config view` prints of the defaults is read back as the defaults."""
    flags = {name: setting.default for name, setting in TABLE.items() if setting.default != ()}
    named = load(flags, {})
    assert named.settings() == load({}, {}).settings()


def test_flags_variables_and_names_are_unique() -> None:
    """Two settings never share a flag or a variable."""
    for spelt in ("flag", "variable", "field"):
        assert len({getattr(each, spelt) for each in TABLE.values()}) == len(TABLE)


def test_all_problems_of_all_places_come_together(tmp_path: Path) -> None:
    """A file, a variable and a flag are wrong: one answer, each with its place and remedy."""
    text = "listn: 127.0.0.1:1\nlog:\n  level: infos\n  formt: json\nlease: 5\nact: simulated/*\n"
    file = written(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load({"resync": "soon"}, {"TIDEGATE_LIMITS_ROUNDS": "none"}, file)
    assert problems(caught.value) == [
        '--resync: "soon": not a duration; write a duration like "90s", "30m" or "1h30m"',
        'TIDEGATE_LIMITS_ROUNDS: "none" is not a whole number; write 0 or a number above it',
        f'{file}:6:6: act: "simulated/*" is not a list; write a list',
        f'{file}:3:10: log.level: "infos" is not known here; did you mean "info"?',
        f'{file}:5:8: lease: 5: not a text; write a duration like "90s", "30m" or "1h30m"',
        f'{file}:1:8: listn: unknown field; did you mean "listen"?',
        f'{file}:4:10: log.formt: unknown field; did you mean "format"?',
    ]


@pytest.mark.parametrize("text, most", [("25%", 5), ("3", 3), ("0", 0), ("0%", 0), ("1%", 1)])
def test_the_limit_on_removals_is_a_number_or_a_percentage(text: str, most: int) -> None:
    """From a flag, a variable or a file, where a number is a number."""
    for settings in (
        load({"limits.removals": text}, {}).settings(),
        load({}, {"TIDEGATE_LIMITS_REMOVALS": text}).settings(),
    ):
        assert removals_max(20, removals_of(settings)) == most


def test_a_limit_on_removals_that_is_none_is_refused() -> None:
    """With what to write."""
    with pytest.raises(UserError) as caught:
        load({"limits.removals": "a few"}, {})
    (line,) = problems(caught.value)
    assert line.startswith('--removals: "a few" is not a limit; write a whole number')


def test_a_named_file_must_be_there_and_others_need_not(tmp_path: Path) -> None:
    """`--config` of a file that is missing is a mistake; the usual files may be missing."""
    with pytest.raises(UserError) as caught:
        load({}, {}, str(tmp_path / "none.yaml"))
    (line,) = problems(caught.value)
    assert line.endswith(
        "none.yaml: no such file or directory; name a settings file that can be read"
    )
    assert load({}, {"XDG_CONFIG_HOME": str(tmp_path)}).origins["lease"].place == "default"


def test_paths_are_seen_from_their_file(tmp_path: Path) -> None:
    """A path in a file is beside the file; an address and a path on the command line are not."""
    file = written(tmp_path, "database: here.db\nscenarios: [a.yaml, /b.yaml]\n")
    settings = load({}, {}, file).settings()
    assert settings.database == str(tmp_path / "here.db")
    assert settings.scenarios == (str(tmp_path / "a.yaml"), "/b.yaml")
    assert load({"database": "there.db"}, {}, file).settings().database == "there.db"
    file = written(tmp_path, "database: postgresql://db/x\n")
    assert load({}, {}, file).settings().database == "postgresql://db/x"


def test_an_origin_names_the_line(tmp_path: Path) -> None:
    """Where a value stands can be opened in an editor."""
    file = written(tmp_path, "lease: 20s\nlog:\n  level: debug\n")
    merged = load({"act": ("a/*", "b/*")}, {"TIDEGATE_KINDS": "x, y"}, file)
    assert merged.origins["log.level"].text() == f"project {file}:3:10"
    assert merged.origins["act"].text() == "flag --act"
    assert merged.origins["kinds"].text() == "env TIDEGATE_KINDS"
    assert merged.settings().kinds == ("x", "y")
    assert merged.settings().lease == 20 * SECOND


@pytest.mark.parametrize(
    "address, parts",
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
        ("localhost:65536", None),
        (":8080", None),
        ("::1:80", None),
        ("[host]:80", None),
        ("host", None),
        ("host:http", None),
        ("host:٣", None),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, parts: tuple[str, int] | None) -> None:
    """Both must be there; IPv6 stands in brackets."""
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "database, seen",
    [
        ("tidegate.db", "tidegate.db"),
        ("postgresql://db/x", "postgresql://db/x"),
        ("postgresql://me@db/x", "postgresql://me@db/x"),
        ("postgresql://me:pa@ss:w@db:5432/x", "postgresql://me:***@db:5432/x"),
        (
            "postgresql:///x?user=me&password=pw&host=h",
            "postgresql:///x?user=me&password=***&host=h",
        ),
    ],
)
def test_a_password_is_not_shown(database: str, seen: str) -> None:
    """However it is written into the address."""
    assert shown("database", database) == seen


def test_a_secret_is_shown_to_no_one_and_found_where_it_is_kept(tmp_path: Path) -> None:
    """An address is hidden; a reference is shown, and followed when it is needed."""
    (tmp_path / "hook").write_text("https://chat/s3cret\n", encoding="utf-8")
    file = written(tmp_path, "notify: {webhook: 'file:hook'}\n")
    reference = load({}, {}, file).settings().notify_webhook
    assert shown("notify.webhook", reference) == f"file:{tmp_path}/hook"
    assert revealed(reference, {}, "x") == "https://chat/s3cret"
    assert revealed("env:HOOK", {"HOOK": "https://chat/2"}, "x") == "https://chat/2"
    assert revealed("", {}, "x") == ""
    assert shown("notify.webhook", "https://chat/s3cret") == "***"
    (tmp_path / "blank").write_text("\n", encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff")
    for nowhere, says in (
        ("env:NONE", "x: Environment variable NONE is not set; set it, or name another"),
        ("env:BLANK", "x: Environment variable BLANK is empty; set it"),
        ("file:/none", "x: File /none cannot be read: No such file or directory; write"),
        (f"file:{tmp_path}/blank", f"x: File {tmp_path}/blank is empty; write the secret"),
        (f"file:{tmp_path}/bytes", f"x: File {tmp_path}/bytes is not text in UTF-8; write"),
    ):
        with pytest.raises(UserError) as caught:
            revealed(nowhere, {"BLANK": " "}, "x")
        assert says in str(caught.value)


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("notify.webhook", "s3cret", "neither an address nor a reference"),
        ("forgeToken", "s3cret", "not where a token is; write env:NAME or file:PATH"),
        ("forgeToken", "https://s3cret", "not where a token is"),
        ("notify.template", "${rolout}", 'did you mean "rollout"?'),
        ("notify.template", "costs 5$", "a $ that names nothing"),
        ("notify.on", ("start", "stopp"), 'did you mean "stop"?'),
    ],
)
def test_what_cannot_be_reported_is_refused(name: str, value: object, words: str) -> None:
    """Before anything runs, and without repeating what may be a secret."""
    with pytest.raises(UserError) as caught:
        load({name: value}, {})
    (line,) = problems(caught.value)
    assert words in line
    assert "s3cret" not in line


def test_a_misspelt_variable_is_mentioned_and_a_strange_one_is_not() -> None:
    """Platforms set TIDEGATE_SERVICE_HOST by themselves: that must stop nothing."""
    env = {
        "TIDEGATE_LSTEN": "x",
        "TIDEGATE_SERVICE_PORT_9090_TCP": "tcp://10.0.0.1:80",
        # The name that the guide gives a secret, which is like no setting.
        "TIDEGATE_OIDC_SECRET": "x",
    }
    assert load({}, env).warnings == (
        'TIDEGATE_LSTEN: no such setting; did you mean "TIDEGATE_LISTEN"?',
    )
