"""The highest place that names a setting has the say, and `--show-origin` says which one it was."""

import os
import tempfile
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tidegate.settings.setting_forms import Setting, SettingForm
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import load

PLACES = ("flag", "env", "project", "user")
WORDS = st.text("abcxyz*/-", min_size=1, max_size=8)


def values(setting: Setting) -> st.SearchStrategy[object]:
    """Something that may be written for a setting."""
    if setting.form is SettingForm.WHOLE:
        return st.integers(1, 99)
    if setting.form is SettingForm.LIMIT:
        return st.one_of(st.integers(1, 99).map(str), st.integers(1, 99).map(lambda n: f"{n}%"))
    if setting.form is SettingForm.DURATION:
        return st.integers(1, 59).map(lambda n: f"{n}s")
    if setting.form is SettingForm.ADDRESS:
        return st.integers(0, 65535).map(lambda port: f"[::1]:{port}")
    if setting.form in (SettingForm.SECRET, SettingForm.TOKEN):
        return WORDS.map(lambda word: f"env:{word}")
    if setting.is_list:
        words = st.sampled_from(setting.choices) if setting.choices else WORDS
        return st.lists(words, min_size=1, max_size=3, unique=True).map(tuple)
    return st.sampled_from(setting.choices) if setting.choices else WORDS


@st.composite
def written(draw: st.DrawFn) -> dict[str, dict[str, object]]:
    """For every place, some settings."""
    return {
        place: {
            name: draw(values(TABLE[name]))
            for name in draw(st.lists(st.sampled_from(list(TABLE)), unique=True, max_size=6))
        }
        for place in PLACES
    }


def as_text(value: object) -> str:
    """As a shell gives it."""
    return ",".join(value) if isinstance(value, tuple) else str(value)


def as_file(values: dict[str, object]) -> str:
    """As a file has it; JSON is YAML."""
    nested: dict[str, object] = {}
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        within = nested.setdefault(section, {}) if section else nested
        assert isinstance(within, dict)
        # A number in quotes is a mistake there.
        is_number = TABLE[name].form is SettingForm.LIMIT and str(value).isdigit()
        within[key] = int(str(value)) if is_number else value
    return msgspec.json.encode(nested).decode()


def beside(name: str, value: object, folder: Path) -> object:
    """A value as it is seen from a file's folder."""
    if TABLE[name].form is SettingForm.PATH:
        return str(folder / str(value))
    if TABLE[name].form is SettingForm.PATHS and isinstance(value, tuple):
        return tuple(str(folder / each) for each in value)
    return value


@given(written())
def test_the_highest_place_has_the_say_and_is_named(places: dict[str, dict[str, object]]) -> None:
    """Of every setting: the value and the origin are those of the highest place that names it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tidegate").mkdir()
        project, user = folder / "mine.yaml", folder / "tidegate" / "config.yaml"
        project.write_text(as_file(places["project"]), encoding="utf-8")
        user.write_text(as_file(places["user"]), encoding="utf-8")
        env = {TABLE[key].variable: as_text(value) for key, value in places["env"].items()}
        env |= {"XDG_CONFIG_HOME": os.fspath(folder)}
        merged = load(places["flag"], env, str(project))
    folders = {"project": project.parent, "user": user.parent}
    for key, setting in TABLE.items():
        winner = next((place for place in PLACES if key in places[place]), "default")
        value = setting.default if winner == "default" else places[winner][key]
        expected = beside(key, value, folders[winner]) if winner in folders else value
        assert merged.values[key] == expected
        assert merged.origins[key].place == winner
