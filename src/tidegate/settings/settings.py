"""Settings from every place they may be written in, and which place each came from.

    flag > TIDEGATE_* variable > project file > user file > default

The highest place that names a setting has the say; lists are not joined. Every place is read
before anything is said, so that all problems come together, each with its file and line, its
variable or its flag.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tidegate.documents.files import bounded_text
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, closest
from tidegate.model.time import Duration, parse_duration
from tidegate.settings.setting_forms import Setting, SettingForm, Written
from tidegate.settings.setting_reader import SettingsReading, named, read_settings
from tidegate.settings.setting_table import TABLE

PROJECT_FILE = "tidegate.yaml"
USER_FILE = "tidegate/config.yaml"
CONFIG_VARIABLE = "TIDEGATE_CONFIG"
# What the variable of every setting begins with.
_PREFIX = "TIDEGATE_"
# Our variables that are not settings.
_OTHERS = (CONFIG_VARIABLE, "TIDEGATE_DEBUG", "TIDEGATE_REWRITE")
# The values of these are never shown.
_HIDDEN = (SettingForm.SECRET, SettingForm.TOKEN, SettingForm.BEARER)
# Variables that Kubernetes sets in pods beside a Service called tidegate.
_OF_SERVICES = re.compile(r"_SERVICE_(HOST|PORT)|_PORT(_\d+_(TCP|UDP)(_\w+)?)?$")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What everything that can be set is set to."""

    database: str
    kinds: tuple[str, ...]
    act: tuple[str, ...]
    scenarios: tuple[str, ...]
    fleet: str
    brakes: tuple[str, ...]
    hold_files: tuple[str, ...]
    prometheus: tuple[str, ...]
    registry: tuple[str, ...]
    registry_auth: str
    color: str
    server: str
    server_token: str
    listen: str
    probes: str
    public_url: str
    picture_key: str
    access_policy: str
    access_admin_token: str
    tls_certificate: str
    tls_key: str
    log_format: str
    log_level: str
    limits_actions: int
    limits_actions_per_second: int
    limits_action_time: Duration
    limits_rounds: int
    limits_round_time: Duration
    lease: Duration
    resync: Duration
    discover: Duration
    grace: Duration
    notify_webhook: str
    notify_on: tuple[str, ...]
    notify_template: str
    notify_time: Duration
    notify_queue: int
    bundle: str
    revision: str
    kubeconfig: str
    hub: str
    policies: str
    contexts: tuple[str, ...]
    image: str
    parameters: tuple[str, ...]
    overlay: str
    pods: str
    runs_through: str
    runs_port: int
    runs_prometheus: str
    runs_cluster_label: str
    limits_concurrency: int
    limits_removals: str
    forge: str
    forge_url: str
    forge_token: str
    source: str
    schemas_source: str
    promotion_state: str
    promotion_requests: str
    check_runner: str
    check_command: str
    check_container_arguments: tuple[str, ...]
    check_parallel: int
    check_time_limit: Duration
    check_retries: int
    check_logs: str
    upgrades: str
    ocm_every: Duration
    ocm_url: str
    ocm_token_url: str
    ocm_token: str


class Origin(msgspec.Struct, frozen=True):
    """Where a value comes from: which place, and where in it."""

    place: str  # flag, env, project, user, default
    where: str = ""

    def text(self) -> str:
        """The origin on one line."""
        return f"{self.place} {self.where}".rstrip()


class SettingSource(msgspec.Struct, frozen=True):
    """One place settings are written in."""

    name: str
    values: Mapping[str, Written]
    where: Callable[[str], str]


class Merged(msgspec.Struct, frozen=True):
    """Every setting as written, its origin, and what looked odd on the way."""

    values: dict[str, Written]
    origins: dict[str, Origin]
    warnings: tuple[str, ...] = ()

    def settings(self) -> Settings:
        """The same, typed."""
        typed = {TABLE[name].field: _typed(name, self.values[name]) for name in TABLE}
        return msgspec.convert(typed, Settings)


def merge(places: list[SettingSource], warnings: tuple[str, ...] = ()) -> Merged:
    """For every setting the value of the first place that names it."""
    values: dict[str, Written] = {}
    origins: dict[str, Origin] = {}
    for name, setting in TABLE.items():
        values[name], origins[name] = setting.default, Origin("default")
        for place in places:
            if name in place.values:
                values[name] = place.values[name]
                origins[name] = Origin(place.name, place.where(name))
                break
    return Merged(values, origins, warnings)


def load(flags: Mapping[str, object], env: Mapping[str, str], config: str | None = None) -> Merged:
    """Read every place; UserError lists every problem in any of them."""
    problems: list[Problem] = []
    warnings = tuple(_misspelt(env))
    places = [
        _place("flag", _of_flags(flags), lambda setting: setting.flag, problems),
        _place("env", _of_env(env), lambda setting: setting.variable, problems),
    ]
    wanted = config or env.get(CONFIG_VARIABLE)
    for name, path, needed in (
        ("project", Path(wanted or PROJECT_FILE), bool(wanted)),
        ("user", _user_file(env), False),
    ):
        if path is not None and (needed or path.is_file()):
            places.append(_file(name, path, problems))
    if problems:
        raise UserError(tuple(problems))
    return merge(places, warnings)


def shown(name: str, value: Written) -> Written:
    """A value as it may be shown: without passwords; a reference is no secret."""
    if TABLE[name].form in _HIDDEN and value and not _is_reference(str(value)):
        return "***"
    if name != "database" or not isinstance(value, str) or "://" not in value:
        return value
    value = re.sub(r"(?<=[?&]password=)[^&]*", "***", value)
    scheme, _, rest = value.partition("://")
    user, at, host = rest.rpartition("@")
    login, colon, _ = user.partition(":")
    return f"{scheme}://{login}{':***' if colon else ''}{at}{host}"


def revealed(secret: str, env: Mapping[str, str], where: str) -> str:
    """A secret itself, from where it is kept; UserError says what is not there."""
    place, _, name = secret.partition(":")
    if not _is_reference(secret):
        return secret
    if place == "env":
        state = "is empty" if name in env else "is not set"
        found, missing = env.get(name, ""), f"Environment variable {name} {state}"
        remedy = "set it, or name another place (env:NAME, file:PATH)"
    else:
        found, missing = _contents(name)
        remedy = "write the secret there, or name another place (env:NAME, file:PATH)"
    if not found.strip():
        raise UserError((Problem(where, missing, remedy),))
    return found.strip()


def _contents(path: str) -> tuple[str, str]:
    """What a file holds, and what is wrong if that is nothing."""
    try:
        return bounded_text(Path(path)), f"File {path} is empty"
    except OSError as error:
        return "", f"File {path} cannot be read: {error.strerror or error}"
    except UnicodeDecodeError:
        return "", f"File {path} is not text in UTF-8"


def _is_reference(secret: str) -> bool:
    return secret.startswith(("env:", "file:"))


def _typed(name: str, value: Written) -> object:
    if TABLE[name].form is SettingForm.DURATION:
        return parse_duration(str(value))
    return value


def _place(
    name: str,
    data: dict[str, object],
    spell: Callable[[Setting], str],
    problems: list[Problem],
) -> SettingSource:
    """A place in which settings have names of their own: flags, variables."""
    found = read_settings(data, Problems())
    for problem in found.problems:
        setting = named(problem.path)
        spelt = spell(setting) if setting is not None else problem.path
        problems.append(Problem(spelt, problem.message, problem.remedy))
    return SettingSource(name, found.values, lambda each: spell(TABLE[each]))


def _of_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Flags as a document; those not given are left out."""
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    return _nested({name: _unquoted(TABLE[name], value) for name, value in given.items()})


def _of_env(env: Mapping[str, str]) -> dict[str, object]:
    """Variables as a document; an empty one is as good as none."""
    found: dict[str, object] = {}
    for setting in TABLE.values():
        text = env.get(setting.variable, "")
        if text:
            value = [part.strip() for part in text.split(",")] if setting.is_list else text
            found[setting.name] = _unquoted(setting, value)
    return _nested(found)


def _unquoted(setting: Setting, value: object) -> object:
    """What a shell can only give as a text."""
    if isinstance(value, tuple):
        return list(value)
    numbers = (SettingForm.WHOLE, SettingForm.LIMIT)
    if setting.form in numbers and isinstance(value, str) and value.isascii():
        return int(value) if value.isdigit() else value
    return value


def _nested(flat: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for name, value in flat.items():
        section, _, key = name.rpartition(".")
        within = nested.setdefault(section, {}) if section else nested
        assert isinstance(within, dict)
        within[key] = value
    return nested


def _user_file(env: Mapping[str, str]) -> Path | None:
    folder = env.get("XDG_CONFIG_HOME") or (f"{env['HOME']}/.config" if env.get("HOME") else "")
    return Path(folder) / USER_FILE if folder else None


def _file(name: str, path: Path, problems: list[Problem]) -> SettingSource:
    from tidegate.documents.strict_yaml import read_yaml  # most people have no such file

    read = SettingsReading({}, ())
    where: Callable[[str], str] = str
    try:
        document = read_yaml(str(path), bounded_text(path))
        read, where = read_settings(document.data, Problems()), document.where
    except UserError as error:
        prefix = f"{error.where}: " if error.where else ""
        problems += [
            Problem(f"{prefix}{p.path}".rstrip(": "), p.message, p.remedy) for p in error.problems
        ]
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8"
        problems.append(Problem(str(path), what.lower(), "name a settings file that can be read"))
    for problem in read.problems:
        at = f"{where(problem.path)}: {problem.path}" if problem.path else where("")
        problems.append(Problem(at, problem.message, problem.remedy))
    values = {key: _seen_from(path.parent, TABLE[key], value) for key, value in read.values.items()}
    return SettingSource(name, values, where)


def _seen_from(folder: Path, setting: Setting, value: Written) -> Written:
    """Paths are relative to their file; addresses are not paths."""
    if setting.form is SettingForm.PATHS and isinstance(value, tuple):
        return tuple(str(folder / each) for each in value)
    if setting.form in _HIDDEN and str(value).startswith("file:"):
        return f"file:{folder / str(value).removeprefix('file:')}"
    is_path = setting.form is SettingForm.PATH and isinstance(value, str) and value != ""
    if is_path and "://" not in str(value) and not str(value).startswith("memory:"):
        return str(folder / str(value))
    return value


def _misspelt(env: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and are none; only a word, for others may set such too."""
    known = {setting.variable for setting in TABLE.values()} | set(_OTHERS)
    odd = sorted(
        name
        for name in env
        if name.startswith(_PREFIX) and name not in known and not _OF_SERVICES.search(name)
    )
    # What all of them begin with makes none of them like another.
    short = {name.removeprefix(_PREFIX) for name in known}
    likes = ((name, closest(name.removeprefix(_PREFIX), short)) for name in odd)
    return [
        f'{name}: no such setting; did you mean "{_PREFIX}{like}"?' for name, like in likes if like
    ]
