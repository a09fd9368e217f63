"""What a setting is: its name, how it is written, and where else that name follows from it."""

import enum
import re

import msgspec

Written = str | int | tuple[str, ...]


class SettingForm(enum.Enum):
    """How a setting is written."""

    TEXT = "a text"
    TEXTS = "a list of texts"
    CHOICE = "one of"
    PATH = "a path, seen from the file it is written in"
    PATHS = "a list of paths, seen from the file they are written in"
    WHOLE = "a whole number"
    DURATION = "a duration"
    ADDRESS = "host:port"
    SECRET = "an address, or where it is: `env:NAME` or `file:PATH`"
    TOKEN = "where it is: `env:NAME` or `file:PATH`"
    BEARER = "a token, or where it is: `env:NAME` or `file:PATH`"
    LIMIT = "a whole number, or a percentage"
    TEMPLATE = "a text with `${words}`"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    name: str  # its path in a file: `log.format`
    form: SettingForm
    default: Written
    help: str
    flag: str
    choices: tuple[str, ...] = ()
    # What a number or a duration must not be below, as written.
    least: str = ""

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"TIDEGATE_{self.field.upper()}"

    @property
    def field(self) -> str:
        """Its name in `Settings`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name.replace(".", "_")).lower()

    @property
    def is_list(self) -> bool:
        """Whether it has several values; its flag may be repeated, its variable has commas."""
        return self.form in (SettingForm.TEXTS, SettingForm.PATHS)
