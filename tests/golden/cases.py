"""A golden file: what a person writes, and every object that follows from it.

Sections are separated by `--- # name`. The first is what stands in an integration's file; some
files have more: parameters of the environment, a site's overlay, digests a registry knows. The last
is what is rendered. All of it goes the way of any bundle: through the reader, the estate and the
stamps, because fields have been lost on that way before.
"""

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.bundles import DEFAULT_TAG, INVENTORY, bundle_of
from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.default_image import CERTIFICATES_TAG
from tidegate.kinds.integrations.core.workloads.estate import (
    DECLARED_AT,
    RENDERED,
    Site,
    estate_of,
    manifest_of,
)
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.model.problem import Problems

FOLDER = Path(__file__).parent / "workloads"
NAME = "ocm-upgrade-scheduler-org"
_SECTION = re.compile(r"^--- # (\w+)\n", re.MULTILINE)
_ENVIRONMENT = "products/environments/production.yml"


class Case(msgspec.Struct, frozen=True):
    """One golden file, as text."""

    path: Path
    # By name; the first is called `integration`.
    sections: dict[str, str]

    @property
    def name(self) -> str:
        """`cron/dashdotdb`."""
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def field(self) -> str:
        """What it is about: its name without the variant, but for one field of `logs`."""
        first, _, rest = self.path.stem.partition(".")
        return self.path.stem if first == "logs" and rest else first

    def written(self, section: str) -> Any:
        """What a section says; empty: it is not there."""
        return read_yaml(self.name, self.sections.get(section, "{}")).data

    def _environment(self) -> str:
        """The environment, with default images where the case has none of its own."""
        plain = INVENTORY[_ENVIRONMENT].replace(DEFAULT_TAG, "")
        data = read_yaml(self.name, plain + self.sections.get("environment", "")).data
        tags = dict.fromkeys(("IMAGE_TAG", CERTIFICATES_TAG), "latest")
        data["parameters"] = {**tags, **(data.get("parameters") or {})}
        return yaml.dump(data)

    def manifests(self) -> list[Manifest]:
        """Every object, as it is handed to a cluster."""
        files = {
            **INVENTORY,
            _ENVIRONMENT: self._environment(),
            "integrations/it.yml": f"name: {NAME}\n$schema: /app-sre/integration-1.yml\n"
            + self.sections["integration"],
        }
        bundle = bundle_of(files)
        assert not bundle.errors, bundle.findings
        problems = Problems()
        estate = estate_of(
            INTEGRATIONS.of(bundle).integrations,
            INTEGRATIONS.of(bundle).inventories,
            problems,
            site=Site(overlay=self.written("overlay") or None),
            digests=self.written("digests"),
        )
        assert not problems.errors, problems.errors
        return [manifest_of(piece, estate.site) for piece in estate.pieces()]

    def rendered(self) -> str:
        """The same as text."""
        return yaml.dump_all(self.manifests(), Dumper=_Plain, sort_keys=False, width=100)

    def rewrite(self) -> None:
        """Write what is rendered now into the file."""
        text = self.path.read_text("utf-8")
        head = text[: text.index("--- # rendered\n")]
        self.path.write_text(f"{head}--- # rendered\n{self.rendered()}", "utf-8")


class _Plain(yaml.SafeDumper):
    """What is the same object twice is written twice: a reader looks nothing up."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def case(path: Path) -> Case:
    """A golden file."""
    parts = _SECTION.split(path.read_text("utf-8"))
    return Case(path, {"integration": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))})


def baseline(of: Case) -> Case:
    """What the files of the same folder are compared with."""
    return case(of.path.parent / "baseline.yaml")


def bare(manifests: list[Manifest]) -> list[Manifest]:
    """Without the stamps, which tell where something was written and what it results in."""
    found = []
    for manifest in manifests:
        notes = manifest["metadata"]["annotations"]
        kept = {key: value for key, value in notes.items() if key not in (DECLARED_AT, RENDERED)}
        found.append({**manifest, "metadata": {**manifest["metadata"], "annotations": kept}})
    return found


CASES = tuple(case(path) for path in sorted(FOLDER.glob("*/*.yaml")))
