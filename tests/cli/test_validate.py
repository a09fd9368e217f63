"""`tidegate validate` says everything at once, in every format, and exits as promised."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.bundles import INVENTORY, PRODUCTION, integration
from tidegate.cli.render.findings import FORMATS as RENDERERS
from tidegate.kinds.integrations.cli.validate import FORMATS
from tidegate.wiring.bundles import bundle_rules

ROOT = Path(__file__).parents[2]
BAD = integration(
    f"- namespace: {{$ref: {PRODUCTION}}}\n"
    "  spec:\n    imageRef: 1234567\n    resources: {limits: {memory: 2Gazillions}}\n"
)
WORSE = integration(
    "- namespace: {$ref: /nowhere.yml}\n  spec: {resources: {requests: {cpu: 1}}}\n", "other"
)
DOUBTFUL = integration(
    f"- namespace: {{$ref: {PRODUCTION}}}\n"
    "  spec: {imageRef: latest, resources: {requests: {cpu: 1}}}\n"
)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A sound bundle in a directory."""
    folder = tmp_path / "bundle"
    for path, text in INVENTORY.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def tidegate(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    home = {"XDG_CACHE_HOME": str(cwd / ".cache"), "PYTHONWARNINGS": "error"}
    return command.tidegate(*arguments, cwd=cwd, env={**os.environ, **home})


def validate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return tidegate("validate", folder.name, *arguments, cwd=folder.parent)


def test_a_sound_bundle_says_nothing(bundle: Path) -> None:
    """stdout is data, and there is none; stderr says how much was read."""
    done = validate(bundle)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"no problem in {len(INVENTORY)} files\n"


def test_everything_is_said_at_once(bundle: Path) -> None:
    """Problems of several files and kinds, each on a line that an editor can open."""
    (bundle / "bad.yml").write_text(f"{BAD}  odd: yes\n")
    (bundle / "worse.yml").write_text(WORSE)
    done = validate(bundle)
    assert done.returncode == 1
    assert (
        done.stdout
        == """\
bundle/bad.yml:6:15: error: managed[0].spec.imageRef: 1234567 is not a text; quote it: "1234567"
bundle/bad.yml:7:34: error: managed[0].spec.resources.limits.memory: "2Gazillions" is not an amount\
; write an amount like 100m, 2, 500Mi or 2Gi
bundle/bad.yml:8:3: error: managed[0].odd: unknown field "odd"; drop it, or see \
docs/reference/bundle.md for what is known
bundle/bad.yml:8:8: error: managed[0].odd: yes is true or false to some readers; write true or \
false, or quote it
bundle/worse.yml:4:21: error: managed[0].namespace.$ref: no file "/nowhere.yml"; \
write the path of a file
"""
    )
    assert done.stderr == f"5 errors, 0 warnings in {len(INVENTORY) + 2} files\n"


def test_what_was_kept_is_reported_again(bundle: Path) -> None:
    """The second time is as the first, with and without what was kept."""
    (bundle / "bad.yml").write_text(BAD)
    first, second = validate(bundle), validate(bundle)
    assert (bundle.parent / ".cache" / "tidegate" / "bundle.db").exists()
    assert (first.stdout, first.returncode) == (second.stdout, second.returncode)
    assert validate(bundle, "--no-cache").stdout == first.stdout


def test_a_warning_fails_only_where_it_is_asked_to(bundle: Path) -> None:
    """`--strict` is for merge checks."""
    (bundle / "doubtful.yml").write_text(DOUBTFUL)
    lenient, strict = validate(bundle), validate(bundle, "--strict")
    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert ": warning: managed[0].spec.imageRef: " in lenient.stdout


def test_json_has_every_field(bundle: Path) -> None:
    """Programs get file, line, column, path, value, message, remedy, rule and severity."""
    (bundle / "bad.yml").write_text(BAD.replace("2Gazillions", "2Gi"))
    (found,) = json.loads(validate(bundle, "-o", "json").stdout)["findings"]
    assert found == {
        "file": "bundle/bad.yml",
        "line": 6,
        "column": 15,
        "severity": "error",
        "rule": "schema",
        "path": "managed[0].spec.imageRef",
        "message": "1234567 is not a text",
        "remedy": 'quote it: "1234567"',
        "value": "1234567",
    }


def test_github_puts_it_beside_the_line(bundle: Path) -> None:
    """As a command of a workflow, with what would end it escaped."""
    (bundle / "100%,a.yml").write_text(BAD.replace("2Gazillions", "2Gi"))
    assert validate(bundle, "-o", "github").stdout == (
        "::error file=bundle/100%25%2Ca.yml,line=6,col=15,title=tidegate%3A schema::"
        'managed[0].spec.imageRef: 1234567 is not a text; quote it: "1234567"\n'
    )


def test_sarif_is_a_log_others_can_read(bundle: Path) -> None:
    """Version, rules, and a result with its place; also where there is none."""
    (bundle / "a b.yml").write_text(BAD.replace("2Gazillions", "2Gi"))
    log: dict[str, Any] = json.loads(validate(bundle, "-o", "sarif").stdout)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(bundle_rules())
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("schema", "error")
    assert place["artifactLocation"]["uri"] == "bundle/a%20b.yml"
    assert place["region"] == {"startLine": 6, "startColumn": 15}
    (bundle / "a b.yml").unlink()
    assert json.loads(validate(bundle, "-o", "sarif").stdout)["runs"][0]["results"] == []


def test_every_format_that_is_offered_is_written() -> None:
    """The option and the renderers know the same; as JSON and YAML it is the document."""
    documents = {"json", "yaml"}
    assert {*RENDERERS, *documents} == set(FORMATS)
    assert not documents & {*RENDERERS}


def test_a_revision_is_read_without_a_checkout(bundle: Path) -> None:
    """What is in the working tree does not matter."""
    git = ["git", "-C", str(bundle), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    (bundle / "bad.yml").write_text(BAD)
    assert validate(bundle).returncode == 1
    assert validate(bundle, "--revision", "HEAD").returncode == 0
    wrong = validate(bundle, "--revision", "nonsense")
    assert wrong.returncode == 2
    assert "name a branch, a tag or a commit" in wrong.stderr


def test_a_directory_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """Which is something else than a bundle with problems."""
    done = tidegate("validate", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere: no such directory" in done.stderr


def test_an_empty_directory_says_so(tmp_path: Path) -> None:
    """Nothing was checked, and no one should think otherwise."""
    done = tidegate("validate", cwd=tmp_path)
    assert done.returncode == 2
    assert "no YAML file" in done.stderr


def test_the_example_is_sound_and_as_large_as_it_says() -> None:
    """40 clusters, 25 accounts, 12 integrations; no error, no warning; written by its script."""
    done = tidegate("validate", "examples/app-interface", "--strict", "--no-cache")
    assert (done.returncode, done.stdout) == (0, "")
    folder = ROOT / "examples" / "app-interface"
    assert len(list(folder.glob("clusters/*/cluster.yml"))) == 40
    assert len(list(folder.glob("aws/*/account.yml"))) == 25
    assert len(list(folder.glob("integrations/*.yml"))) == 12


def test_the_script_of_the_example_writes_what_is_there(tmp_path: Path) -> None:
    """No one has to wonder which of the two is right."""
    script = ROOT / "examples" / "app_interface.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    kept = ROOT / "examples" / "app-interface"
    paths = sorted(p.relative_to(kept) for p in kept.rglob("*") if p.is_file())
    assert paths == sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert all((kept / p).read_bytes() == (tmp_path / p).read_bytes() for p in paths)


def test_the_policy_file_of_a_service_is_checked(tmp_path: Path) -> None:
    """Every mistake with its line; alone, or beside a bundle."""
    file = tmp_path / "access.yaml"
    file.write_text(
        "grants:\n  - role: aprover\n    subjects: [group:payments]\nfourEyes:\n  - gate: board\n"
    )
    bad = command.tidegate("validate", "--access-policy", str(file))
    assert bad.returncode == 1
    for said in (
        f"{file}:2:11: error: grants[0].role",
        'did you mean "approver"?',
        '"group:payments" cannot log in, so this has no effect',
        "fourEyes[0].gate: unknown field",
    ):
        assert said in bad.stdout, said
    assert "3 errors, 0 warnings in 1 file" in bad.stderr
    file.write_text("grants: [{role: viewer, subjects: ['token:*']}]\n")
    good = command.tidegate("validate", "--access-policy", str(file), "-o", "json")
    assert (good.returncode, json.loads(good.stdout)["findings"]) == (0, [])
    gone = command.tidegate("validate", "--access-policy", str(tmp_path / "none.yaml"))
    assert (gone.returncode, "no such file" in gone.stderr) == (2, True)
