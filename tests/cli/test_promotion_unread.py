"""What cannot be read, or is not found, withholds its environment and is named by every command."""

import json
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import pytest

from tests.git_repos import clone, commit
from tests.promoted import DASHBOARDS, JENKINS, MORE_TEKTON, SAAS, TARGET, TEKTON, Play, Source
from tests.promoted import make_source as made

ENV = ".env"
NAMESPACE = "data/services/production.yml"
PRODUCTION = "data/environments/production.yml"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is deployed."""
    return made(tmp_path_factory.mktemp("source"))


@pytest.fixture
def play(tmp_path: Path, source: Source) -> Play:
    """A bundle of one's own."""
    return Play(tmp_path, source)


def text_of(play: Play, path: str) -> str:
    """A file of the bundle, with the line ends it has."""
    return (play.clone / path).read_bytes().decode()


def waiting(plan: Any) -> dict[str, str]:
    """What the places of environments that wait are said to be."""
    return {
        each["name"]: next(v["message"] for v in each["verdicts"] if v["gate"] == "places")
        for each in plan["environments"]
        if each["state"] == "waits"
    }


BROKEN = [
    # No line of the file sets the variable.
    (ENV, lambda text: text.replace("RECONCILE_IMAGE_TAG", "OTHER_TAG"), {"pr-check"}, ENV),
    # A command decides the value.
    (ENV, lambda text: text.replace("TAG=", "TAG=$(cat tag) #"), {"pr-check"}, f"{ENV}:3"),
    (ENV, lambda text: text.encode() + b"# caf\xe9\n", {"pr-check"}, f"{ENV}:5"),
    # A key twice.
    (SAAS, lambda text: text + "name: again\n", {"manager"}, f"{SAAS}:24"),
    (SAAS, lambda text: text.replace("    ref: master\n", "    ref: a\n    ref: b\n"), {"manager"},
        f"{SAAS}:15"),
    (TARGET, lambda text: text + "ref: main\n", {"dashboards"}, f"{TARGET}:6"),
    (DASHBOARDS, lambda text: text.replace("dashboards-production.yml", "gone.yml"),
        {"dashboards"}, f"{DASHBOARDS}: "),
    # Of which environment a target is cannot be read.
    (NAMESPACE, lambda text: text + "name: again\n", {"manager", "dashboards"}, f"{NAMESPACE}:8"),
    (PRODUCTION, lambda text: text + "name: again\n", {"manager", "dashboards"}, PRODUCTION),
    # The saas file is there and none of its targets is meant.
    (PRODUCTION, lambda text: text.replace("-production", "-live"),
        {"manager", "dashboards"}, SAAS),
    (SAAS, lambda text: text.replace("url: https://git.example.com/app-sre/q", "url: https://x/y-"),
        {"manager"}, SAAS),
    (JENKINS, lambda text: text.replace("qontract_reconcile_image_tag", "other"), {"jenkins"},
        JENKINS),
    # One of several files that have a value.
    (TEKTON, lambda text: text + "labels: {}\n", {"tekton"}, f"{TEKTON}:8"),
    (MORE_TEKTON, lambda text: text.encode() + b"# caf\xe9\n", {"tekton"}, f"{MORE_TEKTON}:6"),
]  # fmt: skip


@pytest.mark.parametrize("path, change, environments, where", BROKEN)
def test_what_cannot_be_read_withholds_its_environments_and_no_other(
    play: Play, path: str, change: Any, environments: set[str], where: str
) -> None:
    """`promote`, `pending` and `get promotions` name the environment and the file."""
    new = change(text_of(play, path))
    (play.clone / path).write_bytes(new if isinstance(new, bytes) else new.encode())
    play.edit({}, "break it")
    plan = play.promote(code=1)
    found = waiting(plan)
    assert set(found) == environments
    assert {each["name"] for each in plan["environments"]} == EVERY
    assert not any(each["moves"] for each in plan["edits"] if each["environment"] in environments)
    for message in found.values():
        assert message.startswith("not found: ")
    assert any(where in message for message in found.values()), found
    pending = play.run("pending", "-o", "json")
    listed = play.run("get", "promotions", "--no-forge", "-o", "json")
    for done in (pending, listed):
        document = json.loads(done.stdout)
        assert (done.returncode, document["complete"]) == (1, False)
        told = {each.partition(":")[0] for each in document["warnings"]}
        assert environments <= told, document["warnings"]


EVERY = {"dashboards", "pr-check", "manager", "jenkins", "tekton"}
SPELLINGS = [
    "export RECONCILE_IMAGE_TAG={tag}",
    "RECONCILE_IMAGE_TAG={tag}",
    "  RECONCILE_IMAGE_TAG='{tag}'",
    'export   RECONCILE_IMAGE_TAG="{tag}"  # why',
    "\texport\tRECONCILE_IMAGE_TAG={tag}",
]


@pytest.mark.parametrize("line", SPELLINGS)
def test_a_variable_is_found_however_a_shell_lets_it_be_written(
    play: Play, source: Source, line: str
) -> None:
    """With `export` or without, indented, in quotes; the rest of the line stays."""
    env = f"A=1\n{line}\nexport SCHEMAS_IMAGE_TAG=aaaaaaa\n"
    play.edit({ENV: env.format(tag=source.first[:7])})
    plan = play.promote("--to", "pr-check", "--write")
    assert [each["line"] for each in plan["edits"]] == [2]
    assert text_of(play, ENV) == env.format(tag=source.newest[:7])


def test_a_template_that_only_uses_a_key_is_no_place(play: Play) -> None:
    """`{{ key }}` has no version in it, whether its file is YAML or not."""
    play.edit({"resources/job.yaml": "tag: {{ qontract_reconcile_image_tag }}\n{% if x %}\n"})
    assert waiting(play.promote()) == {}


def test_environments_that_a_bundle_does_not_have_are_named_at_the_end(
    play: Play, source: Source
) -> None:
    """The ready-made promotion has places that a bundle need not have: they stop nothing."""
    (play.clone / JENKINS).unlink()
    play.edit({}, "no jenkins")
    plan = play.promote()
    assert [each["name"] for each in plan["notFound"]] == ["jenkins"]
    said = play.run("promote", "--no-registry-check").stdout
    assert (
        "environments not found:\n  jenkins: 'qontract_reconcile_image_tag' in resources/" in said
    )


REMAINING = {
    "resources/job.yaml.j2": "a\nimage: quay.io/x/y:{short}\n",
    "resources/params.json": '[\n {{"name": "TAG",\n  "value": "{short}"}}\n]\n',
    "data/list.yml": "parameters:\n- name: TAG\n  value: {full}\n",
    "data/block.yml": "script: |\n  docker pull quay.io/x/y:{short}\n",
    "ci/Dockerfile": "FROM quay.io/x/y:{short} AS build\n",
}


def test_where_the_old_version_still_stands_is_said_of_all_files(
    play: Play, source: Source
) -> None:
    """Whatever their type; other lines of files that are edited; nothing that only looks alike."""
    names = {"short": source.first[:7], "full": source.first}
    files = {path: text.format(**names) for path, text in REMAINING.items()}
    env = text_of(play, ENV) + f"OTHER={source.first[:7]}\n"
    alike = {"alike.txt": f"{source.first[:7]}0000\nf{source.first[:7]}\nv{source.newest}\n"}
    play.edit({**files, ENV: env, **alike})
    plan = play.promote()
    found = [(each["file"], each["line"]) for each in plan["remaining"]]
    assert found == [
        (".env", 5),
        ("ci/Dockerfile", 1),
        ("data/block.yml", 2),
        ("data/integrations/terraform.yml", 16),
        ("data/list.yml", 3),
        ("resources/job.yaml.j2", 2),
        ("resources/params.json", 3),
    ]
    said = play.run("promote", "--no-registry-check").stdout
    assert "the old version still stands in:\n  .env:5 " in said
    assert "  resources/params.json:3 " in said


def test_a_place_of_an_environment_that_is_not_selected_is_no_surprise(play: Play) -> None:
    """It is known, and `--to` left it out."""
    plan = play.promote("--to", "jenkins")
    assert [each["file"] for each in plan["remaining"]] == []


@pytest.mark.parametrize("text", ["", "commit: [\n", "commit: a\ncommit: b\n", "other: b\n"])
def test_schemas_that_a_version_does_not_name_as_declared_are_not_taken_for_none(
    play: Play, source: Source, tmp_path: Path, text: str
) -> None:
    """Neither moved nor `SchemasNotNamed`: the place is named."""
    needed = "  needed: {file: schemas.yml, at: commit}\nenvironments:\n"
    declared = (resources("tidegate.kinds.promotions.files") / "app-interface.yml").read_text()
    play.edit({"data/promotion.yml": declared.replace("environments:\n", needed)})
    work = clone(source.bare, tmp_path / "work")
    made_of = commit(work, {"schemas.yml": text} if text else {"x": "y"})
    asked = ("--source", str(work), "--ref", made_of)
    done = play.run("promote", "--no-registry-check", *asked)
    assert done.returncode == 2, done.stdout
    assert "are not known: 'commit' in schemas.yml" in done.stderr


@pytest.mark.parametrize("command", ["promote", "pending", "get promotions --no-forge"])
def test_where_nothing_can_be_read_every_cause_is_named(
    play: Play, source: Source, command: str
) -> None:
    """Not that there is no such bundle."""
    document = "$schema: /tidegate/promotion-1.yml\nname: mine\nartifact: {}\nenvironments:\n"
    document += "- {name: a, places: [{file: .env, line: TAG=}]}\n"
    document += "- {name: b, places: [{file: b.yml, key: tag}]}\n"
    play.edit({"data/promotion.yml": document, ENV: "TAG=$(x)\n", "b.yml": "tag: 1\ntag: 2\n"})
    done = play.run(*command.split())
    assert done.returncode == 2
    assert ".env:1: TAG=$(x) is more than one value" in done.stderr
    assert 'b.yml:2: "tag" is written twice: b.yml:1 and b.yml:2' in done.stderr
