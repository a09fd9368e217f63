"""`tidegate clusters simulate` as a process, read with the client that reads real clusters."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.contract.clusters import deployment, until
from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S
from tidegate.cli.main import cli
from tidegate.kubernetes.client.access import contexts, read_access
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.port import DEPLOYMENT, POD, Object
from tidegate.model.errors import OutsideError, UserError

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "examples/app-interface"
STAGE, PRODUCTION = "app-sre-stage-01", "appsrep05ue1"
NAMESPACE = "app-interface-stage-int"
COMMAND = ("clusters", "simulate")
IMPATIENT = ServerLimits(tries_max=2, pause_s=0.01, total_s=5)


@contextmanager
def simulated(kubeconfig: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The clusters of the example, and what was printed of them."""
    command = [*TIDEGATE, "clusters", "simulate", str(BUNDLE)]
    process = Forked[str](
        [*command, "--kubeconfig", str(kubeconfig), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        # One line for each of the two clusters that integrations run on.
        yield process, [process.stdout.readline().rstrip() for _ in range(2)]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def workload(tag: str, shard: str) -> dict[str, Any]:
    """A shard of an integration, as it is applied."""
    document = deployment(NAMESPACE, f"x-{shard}", f"quay.io/app-sre/qontract-reconcile:{tag}")
    (container,) = document["spec"]["template"]["spec"]["containers"]
    env = {"INTEGRATION_NAME": "terraform-resources", "SHARD_KEY": shard}
    container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return document


def test_a_bundle_is_rehearsed_with_the_real_client(tmp_path: Path) -> None:
    """What is applied runs as the behaviour file says, some hundred times faster."""
    kubeconfig = tmp_path / "rehearsal"
    behaviour = str(ROOT / "examples/behaviour.yaml")
    args = ("--speed", "600", "--behaviour", behaviour)
    with simulated(kubeconfig, *args) as (process, lines):
        assert [line.split()[0] for line in lines] == [STAGE, PRODUCTION]
        assert lines[0].endswith(NAMESPACE)
        assert contexts(str(kubeconfig)) == [STAGE, PRODUCTION]
        assert kubeconfig.stat().st_mode & 0o077 == 0, "there are tokens in it"
        asyncio.run(asyncio.wait_for(rehearse(kubeconfig), PATIENCE_S))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert err.endswith("stopped by SIGTERM\n")
    assert not kubeconfig.exists()


async def rehearse(kubeconfig: Path) -> None:
    """A canary that is well, and a shard whose runs fail while its pod is up."""
    cluster = KubernetesCluster(read_access(STAGE, str(kubeconfig)))
    canary, bad = "x-ter-int-dev", "x-app-sre-stage"
    for shard in ("ter-int-dev", "app-sre-stage"):
        await cluster.apply(workload("superdangerous", shard))

    async def available() -> bool:
        read = await cluster.read(NAMESPACE, [DEPLOYMENT])
        statuses = [each.document.get("status") or {} for each in read.objects]
        return [each.get("availableReplicas", 0) for each in statuses] == [1, 1]

    await until(available)
    pods = {each.document["metadata"]["labels"]["app"]: each for each in await _pods(cluster)}

    async def ran() -> bool:
        told = [await cluster.fetch(pod, 9090, "/metrics") for pod in pods.values()]
        return all("execution_counter_total{" in numbers for numbers in told)

    await until(ran)
    labels = 'integration="terraform-resources",shards="1",shard_id="{}"'
    for name, shard, code in ((canary, "ter-int-dev", "0.0"), (bad, "app-sre-stage", "1.0")):
        numbers = await cluster.fetch(pods[name], 9090, "/metrics")
        status = f"qontract_reconcile_last_run_status{{{labels.format(shard)}}} {code}"
        assert status in numbers.splitlines()
    log = [line async for line in cluster.logs(NAMESPACE, pods[bad].name, "int")]
    assert any("[ERROR]" in line and "sts:AssumeRole" in line for line in log)
    await cluster.close()


async def _pods(cluster: KubernetesCluster) -> tuple[Object, ...]:
    return (await cluster.read("", [POD])).objects


def test_a_cluster_that_is_down_is_reported_and_reached_by_nothing(tmp_path: Path) -> None:
    """The others are."""
    kubeconfig = tmp_path / "rehearsal"

    async def look() -> None:
        up, down = (
            KubernetesCluster(read_access(name, str(kubeconfig)), limits=IMPATIENT)
            for name in (STAGE, PRODUCTION)
        )
        assert (await up.read("", [DEPLOYMENT])).complete
        with pytest.raises(OutsideError, match=f"{PRODUCTION}: deployment: "):
            await down.read("", [DEPLOYMENT])
        await up.close()
        await down.close()

    with simulated(kubeconfig, "--down", PRODUCTION) as (_, lines):
        assert [" down " in line for line in lines] == [False, True]
        asyncio.run(asyncio.wait_for(look(), PATIENCE_S))


def test_they_stop_on_request_even_if_no_one_reads_why(tmp_path: Path) -> None:
    with simulated(tmp_path / "k") as (process, _):
        assert process.stderr is not None
        process.stderr.readline()  # the last thing before it serves
        process.stderr.close()
        process.stderr = None
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def test_a_kubeconfig_of_a_person_is_not_written_over(tmp_path: Path) -> None:
    """Nor is anything else that was there."""
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("apiVersion: v1\nkind: Config\n")
    answer = CliRunner().invoke(cli, [*COMMAND, str(BUNDLE), "--kubeconfig", str(kubeconfig)])
    assert answer.exit_code == 2
    assert "it is there already, and not ours" in answer.output
    assert kubeconfig.read_text() == "apiVersion: v1\nkind: Config\n"


@pytest.mark.parametrize(
    "args, words",
    [
        (["--down", "app-sre-stage-1"], 'did you mean "app-sre-stage-01"?'),
        (["--listen", "8700"], "no address; write 127.0.0.1:0"),
        (["--speed", "0"], "0 is not in the range"),
        (["--behaviour", "missing.yaml"], "no such file"),
    ],
)
def test_what_is_written_wrong_is_answered_with_what_to_write(
    tmp_path: Path, args: list[str], words: str
) -> None:
    """Before anything is served."""
    kubeconfig = tmp_path / "config"
    given = [*COMMAND, str(BUNDLE), "--kubeconfig", str(kubeconfig), *args]
    answer = CliRunner().invoke(cli, given)
    if isinstance(answer.exception, UserError):
        assert words in str(answer.exception)
    else:
        assert answer.exit_code == 2
        assert words in answer.output
    assert not kubeconfig.exists()


def test_a_mistake_in_a_behaviour_is_reported_with_its_line(tmp_path: Path) -> None:
    """As every document of ours."""
    file = tmp_path / "behaviour.yaml"
    file.write_text("rules:\n  - tag: x\n    start: crashloop\n")
    given = [*COMMAND, str(BUNDLE), "--kubeconfig", str(tmp_path / "k"), "--behaviour", str(file)]
    answer = CliRunner().invoke(cli, given)
    assert isinstance(answer.exception, UserError)
    assert f"{file}:3" in str(answer.exception)


def test_a_folder_without_integrations_has_no_clusters(tmp_path: Path) -> None:
    """And that is said."""
    answer = CliRunner().invoke(cli, [*COMMAND, str(tmp_path), "--kubeconfig", str(tmp_path / "k")])
    assert isinstance(answer.exception, UserError)
    assert "no managed integration" in str(answer.exception)
