"""What is packaged is what is tested: one version, one entry, one set of pinned requirements."""

import re
import tomllib
from pathlib import Path

from tidegate import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIN = re.compile(r"^([\w.-]+==\S+)", re.MULTILINE)


def pins(name: str) -> set[str]:
    """What a file of requirements pins."""
    return set(PIN.findall((ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")))


def test_the_image_has_what_was_tested_and_postgresqls_driver() -> None:
    """`make lock` writes them together."""
    assert pins("runtime") <= pins("image") <= pins("dev")
    more = {each.partition("==")[0] for each in pins("image") - pins("runtime")}
    assert more == {"psycopg", "psycopg-binary"}


def test_program_project_chart_and_image_have_one_version_and_one_entry() -> None:
    """A release changes all of them."""
    assert PROJECT["version"] == __version__
    module, _, name = PROJECT["scripts"]["tidegate"].partition(":")
    command = (ROOT / "dev/image/tidegate").read_text(encoding="utf-8")
    assert f"from {module} import {name}\n" in command
    assert f"sys.exit({name}())" in command
    chart = (ROOT / "deploy/chart/Chart.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:version|appVersion): (\S+)$", chart, re.MULTILINE)) == {__version__}
