"""The image: the same from the same commit, and a service that needs no root and writes no root.

It is built from Debian's packages and hashed requirements, and really run, by runc.
"""

import gzip
import json
import os
import shutil
import urllib.request
from functools import partial
from pathlib import Path

import pytest

from tests.cli.test_serve import Served
from tests.fixtures.journals import reading
from tests.patience import PATIENCE_S, until
from tests.real.chart import RELEASE, one, rendered
from tests.real.image import UID, Container, built, needed_programs, unpacked
from tidegate import __version__

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("image")]
DEMO = "/mnt/demo.yaml"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """One that was built for the tests, or the one that CI has built meanwhile."""
    needed_programs()
    known = os.environ.get("BUILT_IMAGE", "").split()
    if len(known) == 2:
        return known[0], known[1]
    return built(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def bundle(image: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image, unpacked."""
    return unpacked(image[0], tmp_path_factory.mktemp("unpacked") / "bundle")


@pytest.fixture
def container(bundle: Path, tmp_path: Path) -> Container:
    """A container with an empty volume."""
    return Container(bundle, tmp_path)


def test_two_builds_have_one_digest(image: tuple[str, str], tmp_path: Path) -> None:
    """In another folder and another time zone, with other rights of new files."""
    mask = os.umask(0o077)
    try:
        _, digest = built(tmp_path / "again", TZ="Pacific/Auckland", LC_ALL="C")
    finally:
        os.umask(mask)
    shutil.rmtree(tmp_path / "again")
    assert digest == image[1]


def test_it_is_made_for_a_user_that_may_nothing(container: Container) -> None:
    """No root, no capability, no file that gives one, nothing to write but the volume and /tmp."""
    process = container.made["process"]
    assert (process["user"]["uid"], process["user"]["gid"]) == (UID, UID)
    assert process["args"] == ["/usr/local/bin/tidegate", "serve"]
    root = container.bundle / "rootfs"
    gifted = [
        path
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000
    ]
    assert gifted == []
    script = """
import os, pathlib
made = []
for place in ("/opt/tidegate/x", "/etc/x", "/usr/x", "/var/lib/tidegate/x", "/tmp/x"):
    try:
        pathlib.Path(place).write_text("x")
        made.append(place)
    except OSError:
        pass
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
print(os.getuid(), status["CapEff"].strip(), status["NoNewPrivs"].strip(), *made)
"""
    done = container.ran("/usr/bin/python3", "-c", script)
    told = f"{UID} 0000000000000000 1 /var/lib/tidegate/x /tmp/x"
    assert done.stdout.strip() == told, done.stderr
    version = container.ran("/usr/local/bin/tidegate", "--version")
    assert version.stdout.split()[-1] == __version__, version.stderr


def is_ready(served: Served) -> bool:
    """Whether it says so."""
    return served.get("/readyz")[0] == 200


def test_it_serves_takes_a_token_stops_on_term_and_goes_on(container: Container) -> None:
    """Probes on a listener of their own; the journal outlives the container."""
    for start in range(2):
        with container.serving("--scenario", DEMO) as served:
            probes = served.until("serving", listen=None)["probes"]
            if start == 0:
                served.until("decision")
            api, served.address = served.address, probes
            until(partial(is_ready, served), "it is ready")
            assert served.get("/livez")[0] == 200
            assert "tidegate_build_info" in served.get("/metrics")[1]
            assert served.get("/api/v1/status")[0] == 404
            served.address = api
            assert served.get("/api/v1/status")[0] == 401
            token = (container.volume / "tidegate.db.admin-token").read_text("utf-8").strip()
            request = urllib.request.Request(
                f"http://{api}/api/v1/rollouts", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                assert "simulated/demo" in json.dumps(json.load(answer))
            assert served.stop() == 0
    verified = container.ran("/usr/local/bin/tidegate", "journal", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_it_runs_as_the_chart_has_it_run(container: Container, tmp_path: Path) -> None:
    """With its arguments, its variables and its file of settings; probes answer where it asks."""
    documents = rendered("--set", "settings.resync=5s")
    (pod,) = one(documents, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    config = tmp_path / "config"
    config.mkdir()
    for name, text in one(documents, "ConfigMap", f"{RELEASE}-tidegate")["data"].items():
        (config / name).write_text(text, encoding="utf-8")
    words = [each.replace("/etc/tidegate/config", "/mnt") for each in pod["args"]]
    assert words[0] == container.made["process"]["args"][-1] == "serve"
    settings = {each["name"]: each["value"] for each in pod["env"]}
    ports = {each["name"]: each["containerPort"] for each in pod["ports"]}
    assert settings["TIDEGATE_LISTEN"] == f"0.0.0.0:{ports['http']}"
    assert settings["TIDEGATE_PROBES"] == f"0.0.0.0:{ports['probes']}"
    with container.serving(*words[1:], settings=settings, config_folder=config) as served:
        served.address = served.until("serving", listen=None)["probes"]
        for probe in ("startupProbe", "livenessProbe"):
            assert served.get(pod[probe]["httpGet"]["path"])[0] == 200
        assert served.get(pod["readinessProbe"]["httpGet"]["path"])[0] in (200, 503)
        assert served.stop() == 0
    assert (container.volume / Path(settings["TIDEGATE_ACCESS_ADMIN_TOKEN"]).name).exists()


def test_a_journal_of_an_earlier_version_is_taken_over(container: Container) -> None:
    """What it wrote is on the volume still, verifies, and is served."""
    packed = max(reading.FOLDER.glob("*.db.gz"))
    journal = container.volume / "tidegate.db"
    journal.write_bytes(gzip.decompress(packed.read_bytes()))
    os.chown(journal, UID, UID)
    with container.serving() as served:
        served.until("serving", listen=None)
        assert served.get("/api/v1/status")[0] == 401
        assert served.stop() == 0
    verified = container.ran("/usr/local/bin/tidegate", "journal", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
