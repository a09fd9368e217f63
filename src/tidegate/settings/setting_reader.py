"""Reads settings from one document, each by its form, and collects every problem."""

import string
from collections.abc import Mapping

import msgspec

from tidegate.documents.reader import Reader
from tidegate.explain.notice import WORDS
from tidegate.model.problem import Problem, Problems, nearest, shown
from tidegate.model.time import format_duration, parse_duration
from tidegate.settings.setting_forms import Setting, SettingForm, Written
from tidegate.settings.setting_table import TABLE

PORT_MAX = 65535


class SettingsReading(msgspec.Struct, frozen=True):
    """What a document says, and what is wrong with it."""

    values: Mapping[str, Written]
    problems: tuple[Problem, ...]


def read_settings(data: object, problems: Problems) -> SettingsReading:
    """Every setting a document names; an unknown field is a problem with the nearest name."""
    root = Reader(data, "", problems)
    sections = {"": root}
    values: dict[str, Written] = {}
    for setting in TABLE.values():
        section, _, key = setting.name.rpartition(".")
        if section not in sections:
            sections[section] = root.child(section)
        reader = sections[section]
        if not reader.has(key):
            continue
        value = _read(reader, key, setting)
        if value is not None:
            values[setting.name] = value
    for reader in sections.values():
        reader.close()
    return SettingsReading(values, tuple(problems.errors))


def named(path: str) -> Setting | None:
    """The setting a problem's path belongs to; None if it is about no setting."""
    return TABLE.get(path.partition("[")[0])


def _read(reader: Reader, key: str, setting: Setting) -> Written | None:
    match setting.form:
        case SettingForm.TEXTS | SettingForm.PATHS:
            return _texts(reader, key, setting)
        case SettingForm.WHOLE:
            return _at_least(reader, key, setting, reader.whole(key))
        case SettingForm.DURATION:
            duration = _at_least(reader, key, setting, reader.duration(key))
            return format_duration(duration) if duration is not None else None
        case SettingForm.LIMIT:
            limit = reader.limit(key)
            return str(limit) if limit is not None else None
        case SettingForm.CHOICE:
            return _choice(reader, key, setting, reader.text(key))
        case SettingForm.ADDRESS:
            return _address(reader, key, reader.text(key), setting)
        case SettingForm.SECRET:
            return _secret(reader, key, reader.text(key))
        case SettingForm.TOKEN:
            return _token(reader, key, reader.text(key))
        case SettingForm.BEARER:
            return _bearer(reader, key, reader.text(key))
        case SettingForm.TEMPLATE:
            return _template(reader, key, reader.text(key))
        case SettingForm.TEXT | SettingForm.PATH:
            return _filled(reader, key, setting, reader.text(key))


def _texts(reader: Reader, key: str, setting: Setting) -> tuple[str, ...]:
    found = tuple(reader.texts(key))
    if setting.choices:
        for each in found:
            _choice(reader, key, setting, each)
    for i, each in enumerate(found):
        if not each:
            reader.problems.add(f"{reader.at(key)}[{i}]", "an empty text", "leave it out")
    return found


def _at_least(reader: Reader, key: str, setting: Setting, value: int | None) -> int | None:
    whole = setting.form is SettingForm.WHOLE
    least = int(setting.least) if whole else parse_duration(setting.least)
    if value is not None and value < least:
        written = shown(reader.raw(key))
        reader.problems.add(reader.at(key), f"{written} is too small", f"at least {setting.least}")
    return value


def _choice(reader: Reader, key: str, setting: Setting, value: str | None) -> str | None:
    if value is not None and value not in setting.choices:
        hint = nearest(value, setting.choices) or f"write one of {', '.join(setting.choices)}"
        reader.problems.add(reader.at(key), f"{shown(value)} is not known here", hint)
    return value


def _address(reader: Reader, key: str, value: str | None, setting: Setting) -> str | None:
    if value is not None and value != setting.default and split_address(value) is None:
        remedy = 'write "127.0.0.1:8080", or "0.0.0.0:8080" for all interfaces'
        reader.problems.add(reader.at(key), f"{shown(value)} is not host:port", remedy)
    return value


def split_address(text: str) -> tuple[str, int] | None:
    """The host and the port of an address; None if it is none. IPv6 stands in brackets."""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare) != (bare != host) or not (port.isascii() and port.isdigit()):
        return None
    return (bare, int(port)) if int(port) <= PORT_MAX else None


def _secret(reader: Reader, key: str, value: str | None) -> str | None:
    """An address or a reference; what was written is not repeated, for it may be the secret."""
    known = ("http://", "https://", "env:", "file:")
    if value and not value.startswith(known):
        remedy = "write https://…, env:NAME or file:PATH"
        reader.problems.add(reader.at(key), "neither an address nor a reference to one", remedy)
    return value


def _token(reader: Reader, key: str, value: str | None) -> str | None:
    """A reference to a token; the token itself does not belong where others may read it."""
    if value and not value.startswith(("env:", "file:")):
        reader.problems.add(reader.at(key), "not where a token is", "write env:NAME or file:PATH")
    return value


def _bearer(reader: Reader, key: str, value: str | None) -> str | None:
    """A token, or a reference to one; what was written is not repeated."""
    is_word = value is None or (value.isascii() and value.isprintable() and " " not in value)
    if value and not value.startswith("file:") and not is_word:
        reader.problems.add(reader.at(key), "no token", "one word, env:NAME or file:PATH")
    return value


def _template(reader: Reader, key: str, value: str | None) -> str | None:
    if value is None:
        return None
    template = string.Template(value)
    if not template.is_valid():
        reader.problems.add(reader.at(key), f"{shown(value)}: a $ that names nothing", "write $$")
        return value
    for word in template.get_identifiers():
        if word not in WORDS:
            hint = nearest(word, WORDS) or f"known here: {', '.join(WORDS)}"
            reader.problems.add(reader.at(key), f"${{{word}}} is not known here", hint)
    return value


def _filled(reader: Reader, key: str, setting: Setting, value: str | None) -> str | None:
    """A text; an empty one only where the default is empty."""
    if value == "" and setting.default != "":
        reader.problems.add(reader.at(key), "an empty text", "leave it out, or write a value")
    return value
