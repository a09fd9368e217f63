"""`plan`, `diff`, `apply` and `release` on simulated clusters: what they print and do.

The clusters stand behind the port; the rest is the command as people run it.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.estates import Land
from tests.folders import Folder
from tidegate import kind_table
from tidegate.cli import prompt
from tidegate.cli.main import cli
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.estate import estate_of, manifest_of
from tidegate.kubernetes.port import DEPLOYMENT, Cluster
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, Problems
from tidegate.wiring import bundles, outside, repositories
from tidegate.wiring.bundles import read_bundle

GOLDEN = Path(__file__).parents[1] / "golden" / "plans"
CLUSTERS = {"prod-1": "production", "stage-1": "stage"}
Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A bundle of three integrations."""
    found = Folder(tmp_path / "bundle", CLUSTERS)
    found.integration("terraform-resources", sharding="strategy: per-aws-account")
    found.integration("slack-usergroups", sharding="strategy: static, shards: 2")
    found.integration("gitlab-owners")
    return found


@pytest.fixture
def land(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Land:
    """Simulated clusters that are found by their context; settings of no other."""
    found = Land(*CLUSTERS, namespaces=("integrations",))

    def cluster(
        context: str | None = None,
        kubeconfig: str | None = None,
        _waiting: object = None,
        *,
        inside: bool = False,
    ) -> Cluster:
        assert not inside
        known = found.clusters()
        if context not in known:
            problem = Problem("", f'no context is called "{context}"', f"known: {', '.join(known)}")
            raise UserError((problem,), where=kubeconfig or "kubeconfig")
        return known[context]

    monkeypatch.setattr(outside, "cluster", cluster)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TIDEGATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return found


@pytest.fixture
def tidegate(land: Land, folder: Folder) -> Run:
    """The command, on the bundle and the clusters."""

    def run(command: str, *arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(cli, [command, str(folder.root), *arguments], **more)

    return run


def acts(result: Result) -> list[str]:
    """What was done, without where."""
    return [line.partition(" in ")[0] for line in result.stdout.splitlines()]


# Applying


def test_what_is_applied_is_reported_line_by_line_and_is_then_unchanged(tidegate: Run) -> None:
    """`deployment/x created`, and the second time `unchanged`."""
    done = tidegate("apply", "--yes")
    assert (done.exit_code, done.exception) == (0, None)
    assert "deployment/qontract-reconcile-gitlab-owners created" in acts(done)
    assert "12 created" in done.stderr
    again = tidegate("apply", "--yes")
    assert again.exit_code == 0
    assert {line.rpartition(" ")[2] for line in acts(again)} == {"unchanged"}
    assert "12 unchanged" in again.stderr


def test_every_action_is_logged_as_people_know_it(tidegate: Run) -> None:
    """As the predecessor did, so that a person who searches logs finds it."""
    done = tidegate("apply", "--yes")
    line = "['apply', 'prod-1', 'integrations', 'Deployment', "
    assert line + "'qontract-reconcile-terraform-resources-one']" in done.stderr
    quiet = tidegate("apply", "--yes", "--log-level", "warning", "--image", "quay.io/other/x")
    assert "['apply'" not in quiet.stderr
    told = tidegate("apply", "--yes", "--log-format", "json", "--image", "quay.io/third/x")
    lines = [json.loads(each) for each in told.stderr.splitlines() if each.startswith("{")]
    assert {each["outcome"] for each in lines} == {"configured"}


def test_no_question_is_asked_without_a_terminal(tidegate: Run, land: Land) -> None:
    """Then nothing is done, and what to write is said."""
    done = tidegate("apply")
    assert done.exit_code == 2
    assert (
        "Make 12 changes, with 0 restarts? There is no terminal to ask; write --yes" in done.stderr
    )
    assert not land.records()


@pytest.mark.parametrize("answer, made", [("y\n", 12), ("n\n", 0)])
def test_a_person_is_asked_after_the_plan(
    tidegate: Run, land: Land, monkeypatch: pytest.MonkeyPatch, answer: str, made: int
) -> None:
    """And a no is a no."""
    monkeypatch.setattr(prompt, "is_interactive", lambda: True)
    done = tidegate("apply", input=answer)
    assert "12 to create · 0 restarts" in done.stderr
    assert len(land.records()) == made
    assert done.exit_code == (0 if made else 1)
    assert ("\nnothing was changed\n" in done.stderr) == (not made)


@pytest.mark.parametrize("how", ["client", "server"])
def test_a_dry_run_changes_nothing_and_asks_no_one(tidegate: Run, land: Land, how: str) -> None:
    """The one stops at the plan, the other has the servers decide."""
    done = tidegate("apply", f"--dry-run={how}")
    assert (done.exit_code, done.exception) == (0, None)
    assert not land.records()
    assert f"{how} dry run: nothing was changed" in done.stderr
    assert "nothing to do" not in done.stderr
    first = "service/qontract-reconcile created (server dry run)"
    assert (acts(done)[:1] == [first]) == (how == "server")


def test_one_cluster_that_is_down_is_reported_and_the_other_is_done(
    tidegate: Run, land: Land
) -> None:
    """Exit 1, for not everything is as it should be."""

    def ill(call: str) -> None:
        raise OutsideError(f"stage-1: no answer ({call})")

    land.apis["stage-1"].fault = ill
    done = tidegate("apply", "--yes")
    assert done.exit_code == 1
    assert "Error: stage-1: no answer (read Service)" in done.stderr
    assert {where[0] for where in land.records()} == {"prod-1"}


def test_a_cluster_without_a_context_is_reported_and_can_be_given_one(
    tidegate: Run, land: Land
) -> None:
    """`--context-of` says what it is called."""
    land.apis["somewhere"] = land.apis.pop("stage-1")
    done = tidegate("plan")
    assert done.exit_code == 1
    assert 'no context is called "stage-1"' in done.stderr
    assert "or write --context-of stage-1=CONTEXT" in done.stderr
    assert "7 unread" not in done.stdout
    assert "6 to create, 6 unread" in done.stdout
    named = tidegate("plan", "--context-of", "stage-1=somewhere")
    assert named.exit_code == 0
    wrong = tidegate("plan", "--context-of", "stage-1")
    assert (wrong.exit_code, "write CLUSTER=CONTEXT" in wrong.stderr) == (2, True)


def test_a_namespace_that_is_not_there_is_reported_before_anything_is_applied(
    tidegate: Run, land: Land
) -> None:
    """The plan asks for one object of it, and the server says so."""
    land.apis["stage-1"].namespaces.clear()
    done = tidegate("plan")
    assert done.exit_code == 1
    assert 'namespaces "integrations" not found' in done.stderr
    failed = tidegate("apply", "--yes")
    assert failed.exit_code == 1
    assert "fix what failed and apply again; what is done stays done" in failed.stderr
    assert {where[0] for where in land.records()} == {"prod-1"}


def test_a_revision_is_read_without_a_checkout(tidegate: Run, land: Land, folder: Folder) -> None:
    """What is in the directory meanwhile does not count."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder.root)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    folder.integration("gitlab-owners", "bbbbbbb")
    tidegate("apply", "--yes", "--revision", "HEAD")
    values = {str(v) for record in land.records().values() for v in record.fields.values()}
    assert not [each for each in values if each.endswith(":bbbbbbb")]


def test_a_part_can_be_chosen_and_a_misspelt_name_gets_the_nearest(
    tidegate: Run, land: Land
) -> None:
    """By integration, shard, environment and cluster."""
    chosen = ("--integration", "terraform-resources", "--environment", "stage", "--shard", "one")
    tidegate("apply", "--yes", *chosen)
    assert set(land.records()) == {
        ("stage-1", "integrations", "Deployment", "qontract-reconcile-terraform-resources-one")
    }
    wrong = tidegate("plan", "--integration", "terraform-resource", "--cluster", "prod-2")
    assert isinstance(wrong.exception, UserError)
    assert 'did you mean "terraform-resources"?' in str(wrong.exception)
    assert 'did you mean "prod-1"?' in str(wrong.exception)


def test_a_bundle_with_errors_is_planned_as_far_as_it_is_sound_and_removes_nothing(
    tidegate: Run, land: Land, folder: Folder
) -> None:
    """Its problems are shown, and the exit is 1."""
    tidegate("apply", "--yes")
    before = set(land.records())
    folder.integration("gitlab-owners", "bbbbbbb")
    folder.drop("slack-usergroups")
    folder.integration("terraform-resources", sharding="strategy: per-moon-phase")
    done = tidegate("apply", "--yes", "--allow-mass-delete")
    assert done.exit_code == 1
    assert "per-moon-phase" in done.stderr
    assert "what is sound is planned, and nothing is removed" in done.stderr
    assert "deployment/qontract-reconcile-gitlab-owners configured" in acts(done)
    assert set(land.records()) == before
    # A request for what is missing because it is wrong is answered with what is wrong.
    assert "per-moon-phase" in tidegate("plan", "--shard", "terraform-resources/acc-1").stderr


def test_what_is_gone_is_removed_but_not_much_at_once(
    tidegate: Run, land: Land, folder: Folder
) -> None:
    """The brake says so, and how to go on."""
    tidegate("apply", "--yes")
    folder.drop("slack-usergroups")
    kept = tidegate("apply", "--yes")
    assert kept.exit_code == 1
    assert "4 of 12 at once; at most 1 without --allow-mass-delete" in kept.stderr
    assert "not done: " in kept.stderr
    gone = tidegate("apply", "--yes", "--allow-mass-delete")
    assert sum(line.endswith(" removed") for line in acts(gone)) == 4
    assert not [where for where in land.records() if "slack" in where[3]]


def test_settings_come_from_variables_and_files_too(
    land: Land, folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The flag first, then the variable, then the project's file."""
    (tmp_path / "tidegate.yaml").write_text(
        "bundle: bundle\nparameters: [DRY_RUN=--file]\nimage: quay.io/file/x\n"
    )
    monkeypatch.setenv("TIDEGATE_IMAGE", "quay.io/variable/x")
    done = CliRunner().invoke(cli, ["apply", "--yes", "--parameter", "DRY_RUN=--flag"])
    assert (done.exit_code, done.exception) == (0, None)
    values = {str(v) for record in land.records().values() for v in record.fields.values()}
    assert "--flag" in values
    assert "quay.io/variable/x:aaaaaaa" in values
    assert folder.root.name == "bundle"


def test_an_overlay_is_laid_over_every_workload(tidegate: Run, land: Land, tmp_path: Path) -> None:
    """A sidecar of the site's own."""
    patch = tmp_path / "patch.yaml"
    patch.write_text(
        "spec: {template: {spec: {containers: [{name: side, image: '${integration}'}]}}}\n"
    )
    tidegate("apply", "--yes", "--overlay", str(patch))
    record = land.records()["prod-1", "integrations", "Deployment", f"{_PREFIX}gitlab-owners"]
    assert "gitlab-owners" in [v for path, v in record.fields.items() if path[-1] == "image"]


_PREFIX = "qontract-reconcile-"


def test_tags_get_their_digests_where_a_registry_is_named(
    tidegate: Run, land: Land, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tag that is not there reaches nothing, is reported, and removes nothing."""
    folder.integration("gitlab-owners", "missing")
    digest = f"sha256:{'1' * 64}"

    class Shelf:
        def asks(self, image: str) -> bool:
            return "@" not in image

        async def digest(self, image: str) -> str | None:
            return digest if image.endswith(":aaaaaaa") else None

        async def tags(self, _: str) -> tuple[str, ...]:
            return ("aaaaaaa",)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(outside, "registry", lambda hosts, _: Shelf() if hosts else None)
    done = tidegate("apply", "--yes", "--registry", "quay.io")
    assert done.exit_code == 1
    assert "there is no image quay.io/app-sre/qontract-reconcile:missing" in done.stderr
    images = {
        str(value)
        for where, record in land.records().items()
        for path, value in record.fields.items()
        if path[-1] == "image" and where[2] == "Deployment"
    }
    assert images == {f"quay.io/app-sre/qontract-reconcile:aaaaaaa@{digest}"}


# Differences


def test_diff_exits_1_on_differences_and_tells_both_values(tidegate: Run, folder: Folder) -> None:
    """And 0 where there are none."""
    tidegate("apply", "--yes")
    same = tidegate("diff")
    assert (same.exit_code, same.stdout) == (0, "")
    folder.integration("gitlab-owners", "bbbbbbb", clusters=("prod-1", "stage-1"))
    differs = tidegate("diff", "--cluster", "prod-1")
    assert differs.exit_code == 1
    image = "quay.io/app-sre/qontract-reconcile"
    assert differs.stdout == (
        "configure, restarts deployment/qontract-reconcile-gitlab-owners in prod-1/integrations\n"
        "  declared otherwise\n"
        f"  ~ spec.template.spec.containers[int].image: {image}:aaaaaaa → {image}:bbbbbbb\n"
    )
    data = json.loads(tidegate("diff", "-o", "json").stdout)
    assert data["restarts"] == 2
    (one,) = data["changes"][0]["differences"]
    assert one["after"] == f"{image}:bbbbbbb"
    painted = tidegate("diff", "--color", "always", color=True)
    assert "\x1b[33m  ~ spec" in painted.stdout


def test_what_would_be_created_is_shown_in_full(tidegate: Run) -> None:
    """As the document it will be."""
    done = tidegate("diff", "--integration", "gitlab-owners", "--cluster", "prod-1")
    assert done.exit_code == 1
    assert done.stdout.startswith(
        "create deployment/qontract-reconcile-gitlab-owners in prod-1/integrations\n"
        "  + apiVersion: apps/v1\n"
    )


# Adopting and giving back


def predecessors(land: Land, folder: Folder) -> None:
    """Have everything there as the existing manager makes it."""
    bundle = read_bundle(repositories.open_tree(folder.root), bundles.bundle_cache(wanted=False))
    declared = INTEGRATIONS.of(bundle)
    wanted = estate_of(declared.integrations, declared.inventories, Problems())
    for piece in wanted.pieces():
        document = deepcopy(manifest_of(piece, wanted.site, adopted=True))
        document["metadata"]["annotations"] = {"qontract.integration": "integrations-manager"}
        document["metadata"]["labels"] = {"app": piece.name}
        land.somebody_applies(document, piece.cluster)


def test_adopting_is_planned_without_restarts_done_with_consent_and_given_back(
    tidegate: Run, land: Land, folder: Folder
) -> None:
    """Every pod template stays what it was, all the way."""
    predecessors(land, folder)
    specs = deepcopy(_specs(land))
    planned = tidegate("plan")
    assert planned.stdout.endswith("12 to adopt · 0 restarts\n")
    without = tidegate("apply", "--yes")
    assert (
        "12 of other managers: `tidegate apply --adopt` takes them over, with 0 restarts"
        in without.stderr
    )
    assert not land.ours()
    adopted = tidegate("apply", "--yes", "--adopt")
    assert {line.rpartition(" ")[2] for line in acts(adopted)} == {"adopted"}
    assert len(land.ours()) == 12
    assert _specs(land) == specs
    assert tidegate("diff").exit_code == 0
    back = tidegate("release", "--yes", "--cluster", "prod-1")
    assert (back.exit_code, back.exception) == (0, None)
    assert "6 given back as they are; nothing restarts" in back.stderr
    assert {where[0] for where in land.ours()} == {"stage-1"}
    assert _specs(land) == specs
    nothing = tidegate("release", "--yes", "--cluster", "prod-1")
    assert "nothing here is Tidegate's" in nothing.stderr
    refused = tidegate("release", "--cluster", "stage-1")
    assert (refused.exit_code, "write --yes" in refused.stderr) == (2, True)


def _specs(land: Land) -> dict[Any, Any]:
    return {
        where: {path: value for path, value in record.fields.items() if path[0] == "spec"}
        for where, record in land.records().items()
    }


# What a plan looks like


@pytest.fixture
def eventful(tidegate: Run, land: Land, folder: Folder) -> Run:
    """A bit of everything: new, changed, drifted, staged, resharded, gone, another owner's."""
    folder.integration("dashdotdb-slo", staged=True)
    folder.integration("old-integration", clusters=("stage-1",))
    tidegate("apply", "--yes")
    land.apis["stage-1"].records.pop(
        (DEPLOYMENT, "integrations", f"{_PREFIX}terraform-resources-two")
    )
    name = f"{_PREFIX}gitlab-owners"
    key = (DEPLOYMENT, "integrations", f"{_PREFIX}terraform-resources-one")
    record = land.apis["prod-1"].records[key]
    theirs = {"somebody": frozenset(record.fields)}
    land.apis["prod-1"].records[key] = msgspec.structs.replace(record, owners=theirs)
    scaled = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "integrations"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}},
        },
    }
    land.somebody_applies(scaled, "prod-1")
    folder.integration("dashdotdb-slo", "bbbbbbb", staged=True)
    folder.integration("slack-usergroups", sharding="strategy: static, shards: 3")
    folder.integration("terraform-resources", "ccccccc", sharding="strategy: per-aws-account")
    folder.drop("old-integration")
    return tidegate


@pytest.mark.parametrize(
    "name, columns, arguments",
    [("narrow", "80", ()), ("broad", "200", ()), ("wide", "80", ("-o", "wide"))],
)
def test_a_plan_reads_as_in_its_file(
    eventful: Run, name: str, columns: str, arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """In a narrow terminal, in a broad one, and with everything there is."""
    monkeypatch.setenv("COLUMNS", columns)
    done = eventful("plan", *arguments)
    assert (done.exit_code, done.exception) == (0, None)
    lines = done.stdout.splitlines()
    if name == "narrow":
        assert max(map(len, lines[:-1])) <= 80
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--rewrite", default=False):
        path.parent.mkdir(exist_ok=True)
        path.write_text(done.stdout, encoding="utf-8")
    assert done.stdout == path.read_text(encoding="utf-8")


def test_a_plan_can_be_named_and_read_by_programs(eventful: Run) -> None:
    """Names for other commands, JSON with everything."""
    names = eventful("plan", "-o", "name").stdout.splitlines()
    assert "stage-1/integrations/deployment/qontract-reconcile-old-integration" in names
    data = json.loads(eventful("plan", "-o", "json").stdout)
    found = {each["action"] for each in data["changes"]}
    wanted = {"create", "configure", "adopt", "remove", "staged", "reshard", "unchanged"}
    assert found == wanted
    assert data["restarts"] == sum(each["restarts"] for each in data["changes"])


def test_a_hold_binds_a_person_who_applies_by_hand_and_lifting_it_lets_them(
    tidegate: Run, land: Land
) -> None:
    """`plan` says by which brake; nothing is changed, and no one needs to be asked."""
    held = CliRunner().invoke(
        cli, ["hold", "add", "inc-42", "--everything", "--reason", "incident", "--yes", "--create"]
    )
    assert held.exit_code == 0, held.output
    planned = tidegate("plan")
    assert "inc-42" in planned.stdout
    assert "incident" in planned.stdout
    done = tidegate("apply", "--yes")
    assert not land.records()
    assert done.exit_code == 1
    assert "12 held by brakes: `tidegate plan` names them" in done.stderr
    (told,) = (line for line in done.stderr.splitlines() if line.startswith("not done: "))
    assert told.startswith("not done: prod-1/integrations/service/qontract-reconcile, prod-1/")
    assert " and 10 more: held: " in told
    assert "inc-42" in told
    assert "wait for their rollout" not in done.stderr
    CliRunner().invoke(cli, ["hold", "remove", "inc-42"])
    assert tidegate("apply", "--yes").exit_code == 0
    assert land.records()


def test_a_journal_that_is_made_by_hand_is_said_to_be_new(tidegate: Run, land: Land) -> None:
    """A hold in another journal does not bind: an apply elsewhere says so."""
    first = tidegate("apply", "--yes")
    assert "is a new journal" in first.stderr
    assert "brakes set in another one do not bind this" in first.stderr
    assert land.records()
    assert "new journal" not in tidegate("apply", "--yes").stderr


def test_what_is_applied_by_hand_is_in_the_journal_with_who_and_why(
    tidegate: Run, land: Land
) -> None:
    """And so is what is given back; what was only planned is not."""
    tidegate("plan")
    assert not Path("tidegate.db").exists()
    tidegate("apply", "--yes", "--reason", "first time")
    tidegate("release", "--yes", "--reason", "never mind")
    shown = CliRunner().invoke(cli, ["journal", "export"])
    facts = [json.loads(line) for line in shown.stdout.splitlines()]
    told = [each for each in facts if "handled" in json.dumps(each)]
    assert len(told) == 2
    assert "first time" in json.dumps(told[0])
    assert "released" in json.dumps(told[1])
    known = {each.value: each for each in kind_table.reasons()}
    for fact, reason in zip(told, ("ObjectMissing", "ReleasedByHand"), strict=True):
        for each in fact["fact"]["objects"]:
            assert each["reason"] == reason
            assert not each.get("detail")
            for verdict in each["verdicts"]:
                entry = known[verdict["reason"]].entry
                assert verdict["gate"] == entry.gate.value
                assert verdict["outcome"] == entry.outcome.value
                assert len(verdict.get("facts", ())) == len(entry.facts)
    assert CliRunner().invoke(cli, ["journal", "verify"]).exit_code == 0


def test_what_was_not_changed_is_recorded_with_the_gate_that_kept_it(
    tidegate: Run, land: Land, folder: Folder
) -> None:
    """Beside what was applied: held by a brake, or not removed because it is too much."""
    tidegate("apply", "--yes")
    for name in ("terraform-resources", "slack-usergroups"):
        (folder.root / f"integrations/{name}.yml").unlink()
    folder.integration("new")
    CliRunner().invoke(
        cli, ["hold", "add", "h", "--target", "gitlab-owners", "--reason", "x", "--create"]
    )
    folder.integration("gitlab-owners", "bbbbbbb")
    assert tidegate("apply", "--yes").exit_code == 1
    shown = CliRunner().invoke(cli, ["journal", "export"])
    facts = [json.loads(line) for line in shown.stdout.splitlines()]
    last = [each for each in facts if "handled" in json.dumps(each)][-1]
    found = {(each["outcome"], each["reason"]) for each in last["fact"]["objects"]}
    assert found == {("created", "ObjectMissing"), ("kept", "MassDeletion"), ("held", "Held")}


# One cause, one line


def test_what_one_cause_stops_is_two_lines_and_a_count(
    tidegate: Run, land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plan`, `diff`, `apply` and `verify` without a kubeconfig; `--verbose` lists all."""

    def none(
        context: str | None = None, kubeconfig: str | None = None, *_: object, **__: object
    ) -> Cluster:
        raise UserError((Problem("", "no kubeconfig there", "set KUBECONFIG"),), where="k.yaml")

    monkeypatch.setattr(outside, "cluster", none)
    objects = len(json.loads(tidegate("plan", "-o", "json").stdout)["changes"])
    assert objects > 8
    for command in ("plan", "diff", "apply", "verify"):
        done = tidegate(command)
        assert done.exit_code == 1
        assert done.output.count("no kubeconfig there") <= 4, done.output
        assert len(done.output.splitlines()) <= 14, done.output
        assert re.search(
            r"^and [0-9]+ more: .* \(--verbose lists all\)$", done.output, re.MULTILINE
        )
        assert "Error: prod-1, stage-1: " in done.stderr
        whole = tidegate(command, "--verbose").output
        assert " more: " not in whole
        assert len(whole.splitlines()) >= objects - 2
    assert f"nothing was done: {objects} could not be read" in tidegate("apply").stderr


def test_changes_that_fail_alike_are_two_lines_and_a_count(
    tidegate: Run, land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each cluster answers is one cause, whatever it is called."""

    async def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise OutsideError(f"{self.name}: out of space")

    monkeypatch.setattr(type(next(iter(land.clusters().values()))), "apply", refuse)
    done = tidegate("apply", "--yes")
    assert done.exit_code == 1
    assert done.stdout.count("out of space") <= 3, done.stdout


def test_an_interrupted_apply_says_what_was_done_and_what_was_not(
    tidegate: Run, land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered, sent, not begun; what was answered is recorded."""
    kind = type(next(iter(land.clusters().values())))
    real, calls = kind.apply, 0

    async def interrupted(self: Any, *args: Any, dry_run: bool = False, **more: Any) -> Any:
        nonlocal calls
        calls += not dry_run
        if dry_run or calls <= 3:
            return await real(self, *args, dry_run=dry_run, **more)
        if calls == 4:
            signal.raise_signal(signal.SIGINT)
        return await asyncio.Event().wait()

    monkeypatch.setattr(kind, "apply", interrupted)
    done = tidegate("apply", "--yes", "--concurrency", "1")
    assert isinstance(done.exception, (SystemExit, KeyboardInterrupt)), done.output
    created = sum(" created in " in line for line in done.stdout.splitlines())
    assert created == 3
    said = next(line for line in done.stderr.splitlines() if line.startswith("interrupted: "))
    answered, total, sent, left = map(int, re.findall(r"[0-9]+", said))
    assert (answered, sent in (1, 2)) == (3, True)
    assert answered + sent + left == total
    assert "perhaps made" in said
    journal = CliRunner().invoke(cli, ["journal", "show", "--partition", "by-hand/clusters"])
    assert journal.output.count("handled") >= 1, journal.output
