"""Flags made from the table of settings: what is not given comes from variables and files."""

import functools
import os
from collections.abc import Callable
from typing import Any

import click

from tidegate.settings.setting_forms import Setting, SettingForm
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Merged, load

Function = Callable[..., Any]

_CONFIG = "config_file"
# Where a command's context keeps the settings it was run with.
_MERGED = "tidegate.settings"
_METAVARS = {
    SettingForm.PATHS: "FILE",
    SettingForm.WHOLE: "NUMBER",
    SettingForm.DURATION: "DURATION",
    SettingForm.LIMIT: "LIMIT",
    SettingForm.ADDRESS: "HOST:PORT",
}


def settings_options(*names: str) -> Callable[[Function], Function]:
    """Flags for these settings; the command is handed all settings, merged, as `merged`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:
            return function(*args, merged=_load(names, kwargs), **kwargs)

        return _with_flags(command, names)

    return decorate


def setting_option(name: str) -> Callable[[Function], Function]:
    """One setting with its flag, for a command that needs no other."""

    def decorate(function: Function) -> Function:
        field = TABLE[name].field

        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:
            config = kwargs.get(_CONFIG)
            merged = _load((name,), kwargs)
            if config is not None and _shares_config(function):
                kwargs[_CONFIG] = config
            return function(*args, **{field: getattr(merged.settings(), field)}, **kwargs)

        return _with_flags(command, (name,))

    return decorate


database_option = setting_option("database")
color_option = setting_option("color")


def _load(names: tuple[str, ...], kwargs: dict[str, Any]) -> Merged:
    """Take the flags out of a call's arguments, and merge them with every other place."""
    flags = {name: kwargs.pop(TABLE[name].field) for name in names}
    merged = load(flags, os.environ, kwargs.pop(_CONFIG, None))
    click.get_current_context().meta.setdefault(_MERGED, []).append(merged)
    return merged


def origin_of(name: str, value: str) -> str:
    """Where the command got a setting with this value from; empty: it is not a setting's."""
    context = click.get_current_context(silent=True)
    known: list[Merged] = [] if context is None else context.meta.get(_MERGED, [])
    for merged in known:
        if merged.values[name] == value:
            setting, origin = TABLE[name], merged.origins[name]
            if origin.place == "default":
                return f"the default of {setting.flag}"
            return origin.where
    return ""


def _shares_config(function: Function) -> bool:
    """Whether a function below reads settings too, and so needs to know the file."""
    params = getattr(function, "__click_params__", [])
    return any(param.name == _CONFIG for param in params)


def _with_flags(command: Function, names: tuple[str, ...]) -> Function:
    if not _shares_config(command):
        command = click.option(
            "--config",
            _CONFIG,
            metavar="FILE",
            help="Settings to read instead of ./tidegate.yaml.",
        )(command)
    for name in reversed(names):
        command = _flag(TABLE[name])(command)
    return command


def _flag(setting: Setting) -> Callable[[Function], Function]:
    default = setting.default
    text = ", ".join(default) if isinstance(default, tuple) else str(default)
    shown = f"  [{setting.variable}" + (f"; default: {text}]" if text else "]")
    return click.option(
        setting.flag,
        setting.field,
        metavar=_METAVARS.get(setting.form),
        type=click.Choice(setting.choices) if setting.choices else str,
        multiple=setting.is_list,
        help=setting.help + shown,
    )
