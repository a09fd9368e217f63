"""The wheel is the whole program: in a fresh environment it runs without a build step."""

import zipfile
from pathlib import Path

import pytest

from tests.cli.test_serve import DEMO, serving
from tests.real.wheels import ROOT, UV, built, installed, run
from tidegate import __version__

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `tidegate` of an environment that has this wheel and what was locked."""
    return installed(wheel, tmp_path_factory.mktemp("fresh") / "venv")


def test_it_is_for_every_machine_and_has_every_file(wheel: Path) -> None:
    """Schemas and migrations too: whatever is below src and in Git, and nothing else."""
    assert wheel.name == f"tidegate-{__version__}-py3-none-any.whl"
    listed = run("git", "ls-files", "-z", "src/tidegate").split("\0")
    wanted = {name.removeprefix("src/") for name in listed if name and (ROOT / name).exists()}
    assert any(name.endswith(".json") for name in wanted)
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.endswith("/")}
    assert {name for name in packed if ".dist-info/" not in name} == wanted


def test_it_needs_what_was_locked_and_nothing_else(program: Path) -> None:
    """What the wheel requires is there, in versions that fit."""
    python = program.with_name("python")
    from_wheel = run(python, "-c", "import tidegate; print(tidegate.__file__)", cwd=program.parent)
    assert Path(from_wheel.strip()).is_relative_to(program.parents[1])
    run(UV, "pip", "check", "--python", python)


def test_it_rehearses_and_serves(program: Path, tmp_path: Path) -> None:
    """A version, a simulation that ends, and a service that answers, takes a token and stops."""
    assert run(program, "--version", cwd=tmp_path).split()[-1] == __version__
    told = run(program, "simulate", DEMO, cwd=tmp_path, NO_COLOR="1")
    assert "superdangerous" in told
    with serving(tmp_path, program=(str(program),)) as served:
        served.until("decision")
        assert served.get("/readyz")[0] == 200
        assert served.get("/api/v1/status")[0] == 401
        token = (tmp_path / "tidegate.db.admin-token").read_text(encoding="utf-8").strip()
        asked = ("get", "rollouts", "--server", f"http://{served.address}")
        shown = run(program, *asked, cwd=tmp_path, TIDEGATE_SERVER_TOKEN="env:T", T=token)
        assert "simulated/demo" in shown
        assert served.stop() == 0
