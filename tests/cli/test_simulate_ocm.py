"""`tidegate simulate ocm` as a process, asked over HTTP; `simulate FILE` beside it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from click.testing import CliRunner

from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S
from tidegate.cli.main import cli
from tidegate.model.time import parse_duration, parse_instant
from tidegate.wiring import clock

WORLD = Path(__file__).parents[2] / "examples/ocm.yaml"
CLUSTER = "/api/clusters_mgmt/v1/clusters/pay-stage-1-id"


@contextmanager
def simulated(*args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A simulation of the example, and its address."""
    process = Forked[str](
        [*TIDEGATE, "simulate", "ocm", str(WORLD), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().rstrip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def asked(url: str, token: str = "", body: Any = None, raw: bytes | None = None) -> Any:
    """What an address answers."""
    data = raw if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Authorization": f"Bearer {token}"})
    with build_opener(ProxyHandler({})).open(request, timeout=PATIENCE_S) as response:
        return json.load(response)


def test_a_cluster_is_upgraded_over_http_and_time_is_skipped() -> None:
    """A token, a policy, three hours at once; writes are reported; SIGTERM ends it well."""
    with simulated() as (process, url):
        form = {"grant_type": "client_credentials", "client_id": "tidegate"}
        given = urlencode({**form, "client_secret": "simulated"}).encode()
        token = asked(f"{url}/token", raw=given)["access_token"]
        policy = {"version": "4.16.4", "schedule_type": "manual"}
        policy["next_run"] = "2026-03-02T08:30:00Z"
        assert asked(f"{url}{CLUSTER}/upgrade_policies", token, policy)["kind"] == "UpgradePolicy"
        told = asked(f"{url}/simulation", body={"skip": "3h"})
        assert [each["status"] for each in told["writes"]] == [201]
        assert asked(url + CLUSTER, token)["version"]["raw_id"] == "4.16.4"
        with pytest.raises(HTTPError, match="401") as caught:
            asked(url + CLUSTER, "guessed")
        assert json.load(caught.value)["code"] == "CLUSTERS-MGMT-401"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out) == (0, "")
        assert "6 clusters of 2 organisations" in err


def test_from_now_on_the_service_itself_can_be_tried_beside_it(tmp_path: Path) -> None:
    """The clocks agree: what `run` asks for is taken, and nothing is refused as too late."""
    with simulated("--from-now") as (_, url):
        served = tmp_path / "upgrades.yaml"
        text = (WORLD.parent / "upgrades.yaml").read_text()
        served.write_text(text.replace("http://127.0.0.1:8710", url))
        command = [*TIDEGATE, "run", "--kind", "upgrades", "--once"]
        more = ["--upgrades", str(served), "--act", "*", "--database", str(tmp_path / "j.db")]
        env = {**os.environ, "OCM_SECRET": "simulated"}
        subprocess.run(
            [*command, *more], check=True, timeout=PATIENCE_S, env=env, capture_output=True
        )
        told = asked(f"{url}/simulation")
    asked_for = {each["path"]: each["body"] for each in told["writes"]}
    assert asked_for[f"{CLUSTER}/upgrade_policies"]["version"] == "4.16.4"
    assert all(each["status"] < 300 for each in told["writes"]), told["writes"]
    assert abs(parse_instant(told["now"]) - clock().now()) < parse_duration("1h")


@pytest.mark.parametrize(
    "args, says",
    [
        (["--fault", "lots=5"], "--fault lots=5: unknown fault; did you mean"),
        (["--fault", "429=many"], "write 429=20"),
        (["--fault", "429=600", "--fault", "500=600"], "more than a thousand"),
        (["--latency", "soon"], "--latency soon"),
        (["--environment", "qa"], "there are prod"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_words(args: list[str], says: str) -> None:
    """Before anything is served."""
    result = CliRunner().invoke(cli, ["simulate", "ocm", str(WORLD), *args])
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)


def test_the_word_and_the_file_have_their_own_help() -> None:
    """`simulate` tells of its words; `simulate ocm` of what it serves."""
    both = CliRunner().invoke(cli, ["simulate", "--help"]).output
    assert "Words in place of a file" in both
    assert "OpenShift Cluster Manager" in both
    assert "WORLD" in CliRunner().invoke(cli, ["simulate", "ocm", "--help"]).output
    missing = CliRunner().invoke(cli, ["simulate", "omc"])
    assert "no such file" in str(missing.exception)
