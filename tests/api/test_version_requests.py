"""`promote` at a service: a version is requested over HTTP, and a worker carries it out."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.api.listener import listening
from tests.api.stage import Client, Service
from tests.git_repos import git
from tests.promoted import Play, Source, make_source
from tidegate.access.roles import Role

NAME = "promotions/qontract-reconcile"
PROMOTION = """---
$schema: /tidegate/promotion-1.yml
name: qontract-reconcile
artifact: {}
environments:
- {name: stage, follows: main}
- {name: env, places: [{file: .env, line: 'export RECONCILE_IMAGE_TAG='}]}
- name: jenkins
  places: [{file: 'resources/**/defaults.yaml', key: qontract_reconcile_image_tag}]
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return make_source(tmp_path_factory.mktemp("source"))


class Site:
    """A bundle, a worker beside it, and a service over its journal."""

    def __init__(self, folder: Path, source: Source) -> None:
        self.play, self.source = Play(folder, source), source
        self.play.env["COLUMNS"] = "500"
        self.play.edit({"data/promotion.yml": PROMOTION})
        self.work("--act", "nothing/*")
        self.service = Service(folder / "tidegate.db")
        self.address, self.token = "", folder / "token"

    def work(self, *more: str) -> None:
        """One round of a worker that may act, unless it is told otherwise."""
        act = more or ("--act", "promotions/*")
        if act == ("--act", "nothing/*"):
            act = ()
        done = self.play.run("run", "--once", "--kind", "promotions", *act)
        assert done.returncode == 0, done.stderr

    def client(self, role: Role = Role.OPERATOR, **limits: object) -> Client:
        """A caller."""
        return self.service.client(role, **limits)

    def command(self, client: Client, *arguments: str) -> CompletedProcess[str]:
        """A command that asks the service."""
        self.token.write_text(client.token)
        env, self.play.env = self.play.env, {**self.play.env}
        del self.play.env["TIDEGATE_DATABASE"]
        try:
            where = ("--server", self.address, "--server-token", f"file:{self.token}")
            return self.play.run(*arguments, *where)
        finally:
            self.play.env = env

    def branches(self) -> list[str]:
        """What was offered, by branch."""
        found = git(self.play.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads")
        return [each for each in found.split() if each.startswith("tidegate/")]

    def offered(self, branch: str) -> str:
        """What a branch has written."""
        return git(self.play.bare, "show", f"{branch}:.env")


@pytest.fixture
def site(tmp_path: Path, source: Source) -> Iterator[Site]:
    """A bundle of one's own, read once."""
    made = Site(tmp_path, source)
    with listening(made.service) as address:
        made.address = address
        yield made
    made.service.archive.close()


def test_a_requested_version_is_carried_out_by_the_worker(site: Site, source: Source) -> None:
    """Dry run, request under a key, offer; every step is in the journal with its caller."""
    caller, body = site.client(), {"to": ["env"], "ref": source.second[:7], "reason": "inc-42"}
    seen = caller.post(f"/promote/{NAME}?dryRun=true", body)
    assert seen.status == 200, seen.text
    [row] = seen.json["requests"]
    assert (row["state"], row["targets"]) == ("Waiting", ["env"])
    assert "was not read yet" in row["why"]
    assert caller.post(f"/promote/{NAME}", body).status == 428, "it names no plan"
    made = caller.post(f"/promote/{NAME}", body, if_match=seen.tag, idempotency_key="k1")
    again = caller.post(f"/promote/{NAME}", body, if_match=seen.tag, idempotency_key="k1")
    assert (made.status, again.text) == (200, made.text)
    stale = caller.post(f"/promote/{NAME}", {**body, "reason": "y"}, if_match=seen.tag)
    assert stale.status == 412, stale.text
    assert row["id"] in stale.text or "request r" in stale.text
    shown = caller.get(f"/rollouts/{NAME}").json
    [listed] = shown["requests"]
    assert listed["by"] == "token:operator-0"
    for _ in range(3):
        site.work()
    assert "tidegate/promote-qontract-reconcile-to-env" in site.branches()
    assert source.second[:7] in site.offered("tidegate/promote-qontract-reconcile-to-env")
    kinds = [each["kind"] for each in caller.get(f"/journal/{NAME}").json["items"]]
    assert kinds.count("versionRequested") == 1
    assert site.play.run("replay", NAME).returncode == 0


def test_the_command_requests_and_withdraws(site: Site, source: Source) -> None:
    """`promote --open-mr` at a service; without it nothing is recorded."""
    caller = site.client()
    wanted = ("promote", "--to", "env", "--ref", source.second[:7])
    tried = site.command(caller, *wanted)
    assert tried.returncode == 1, tried.stderr
    assert "nothing was requested: --open-mr requests it" in tried.stderr
    assert site.command(caller, *wanted, "--open-mr").returncode == 2, "no reason"
    done = site.command(caller, *wanted, "--open-mr", "--reason", "inc-42", "--yes")
    assert done.returncode == 0, done.stderr
    ident = done.stderr.partition("requested: ")[2].partition(";")[0]
    shown = site.command(caller, "show", NAME)
    assert f"{ident}  " in shown.stdout
    assert "inc-42" not in shown.stderr
    assert "REQUEST" in shown.stdout
    gone = site.command(caller, "withdraw", NAME, ident, "--reason", "not any more")
    assert gone.returncode == 0, gone.stderr
    assert f"withdrew {ident} of {NAME}" in gone.stdout
    assert "REQUEST" not in site.command(caller, "show", NAME).stdout
    lost = site.command(caller, "withdraw", NAME, ident, "--reason", "again")
    assert lost.returncode == 2
    assert "nothing is requested" in lost.stderr


def test_the_newest_version_shows_its_gates_at_once(site: Site) -> None:
    """It was read already: a dry run says what starts."""
    seen = site.client().post(f"/promote/{NAME}?dryRun=true", {"reason": "x"}).json
    assert [each["name"] for each in seen["targets"]] == ["env", "jenkins"]
    assert all(each["starts"] for each in seen["targets"])


def test_what_makes_no_sense_is_refused(site: Site) -> None:
    """With the thing, the value, and what to write instead."""
    caller = site.client()
    cases = (
        ({"to": ["jenkin"]}, 404, 'did you mean "jenkins"'),
        ({"to": ["stage"]}, 422, "follows main: it moves by itself"),
        ({"ref": "--output=x"}, 422, "names no commit, branch or tag"),
        ({"ref": "a..b"}, 422, "names no commit, branch or tag"),
        ({"to": "env"}, 400, "to"),
    )
    for body, status, text in cases:
        answer = caller.post(f"/promote/{NAME}", {"reason": "x", **body}, if_match="*")
        assert (answer.status, text in answer.json["detail"]) == (status, True), answer.text
    assert caller.post("/promote/nothing", {"reason": "x"}, if_match="*").status == 404
    flags = site.command(caller, "promote", "--to", "env", "--write", "--base", "main")
    assert flags.returncode == 2
    assert "--base, --write: is about a clone on this machine" in flags.stderr


def test_a_caller_requests_for_its_own_environments_only(site: Site) -> None:
    """Others do not exist for it; a viewer requests nothing, an approver neither."""
    owner = site.client(Role.OPERATOR, environments=("env",))
    body = {"reason": "x"}
    made = owner.post(f"/promote/{NAME}?dryRun=true", body)
    assert [each["name"] for each in made.json["targets"]] == ["env"]
    assert "jenkins" not in made.text
    beyond = owner.post(f"/promote/{NAME}", {**body, "to": ["jenkins"]}, if_match="*")
    assert beyond.status == 404
    for role in (Role.VIEWER, Role.APPROVER):
        assert site.client(role).post(f"/promote/{NAME}", body, if_match="*").status == 403
    every = site.client().post(f"/promote/{NAME}", {**body, "to": ["jenkins"]}, if_match="*")
    [request] = every.json["requests"]
    assert (
        "requests" not in owner.get(f"/rollouts/{NAME}").json
        or not (owner.get(f"/rollouts/{NAME}").json["requests"])
    )
    hidden = owner.post(
        f"/withdraw/{NAME}", {"reason": "x", "request": request["id"]}, if_match="*"
    )
    assert hidden.status == 404
