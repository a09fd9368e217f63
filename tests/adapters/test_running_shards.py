"""Which shards depend on files, and what files promise them: a bundle in Git, one cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.estates import Land, estate, integration, managed, namespace
from tests.folders import Folder, git
from tidegate.cli.merge_requests.running_shards import IntegrationRunning
from tidegate.kinds.integrations.app.estate import FindCluster
from tidegate.settings.settings import load

FILE = "integrations/dns.yml"
GIVEN, PROMISED = "aaaaaaa", "bbbbbbb"


class OneCluster(IntegrationRunning):
    """With a simulated cluster under every name."""

    land = Land("c1", namespaces=("integrations",))

    @asynccontextmanager
    async def _clusters(self) -> AsyncIterator[FindCluster]:
        yield lambda _: self.land.clusters()["c1"]


def test_shards_are_held_against_the_files_that_promise(tmp_path: Path) -> None:
    """Those that a trial would move, and no others; by the commit, or by files in its place."""
    folder = Folder(tmp_path, {"c1": "stage"})
    for name in ("dns", "other"):
        folder.integration(name, GIVEN)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "all")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    text = (tmp_path / FILE).read_text()
    trials = {"p": {FILE: text.replace(GIVEN, "fffffff").encode()}, "q": {"x.yml": b"a: b\n"}}
    promised = {"p": {FILE: text.replace(GIVEN, PROMISED).encode()}}
    running = OneCluster(tmp_path, load({}, {}).settings())
    where = namespace("c1", "integrations", "stage")
    running.land.apply(estate(integration("dns", managed(PROMISED, where, shards=1))))

    by_commit = asyncio.run(running(commit, trials))
    assert (by_commit["p"].shards, by_commit["q"].shards) == (1, 0)
    assert "moves it" in by_commit["p"].differing[0]
    by_files = asyncio.run(running(commit, trials, promised))
    assert by_files["p"].differing == ("dns: no pod runs",)
    executed = asyncio.run(running.executed(commit, trials, promised, 3))
    assert [(each.shard, each.clean, each.failing) for each in executed["p"]] == [("dns", 0, "")]
    assert not executed["q"]
    asyncio.run(running.close())
