"""The settings of this process and the version it runs, as documents."""

from msgspec import UNSET, UnsetType

from tidegate.model.document import Document, Part
from tidegate.settings.setting_forms import Written
from tidegate.settings.settings import Merged, shown


class VersionReport(Document, frozen=True, kw_only=True):
    """The version of Tidegate, and of Python."""

    version: str
    python: str


class SettingRow(Part, frozen=True):
    """One setting; a secret is not shown."""

    name: str
    value: Written
    # flag, environment, project file, user file, default; and which one.
    origin: str
    where: str | UnsetType = UNSET


class SettingList(Document, frozen=True, kw_only=True):
    """Every setting, its value, and where it comes from."""

    settings: tuple[SettingRow, ...]


def setting_list(merged: Merged) -> SettingList:
    """Every setting with its origin."""
    return SettingList(
        settings=tuple(
            SettingRow(
                name=name,
                value=shown(name, value),
                origin=merged.origins[name].place,
                where=merged.origins[name].where or UNSET,
            )
            for name, value in merged.values.items()
        )
    )


def settings_file(merged: Merged) -> dict[str, object]:
    """The settings as a settings file has them, without origins."""
    data: dict[str, object] = {}
    for name, value in merged.values.items():
        section, _, key = name.rpartition(".")
        within = data.setdefault(section, {}) if section else data
        assert isinstance(within, dict)
        within[key] = shown(name, value)
    return data
