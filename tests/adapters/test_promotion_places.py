"""Places of an app-interface with every trap in it, found and changed in real repositories."""

import difflib
from pathlib import Path

import pytest

from tests.git_repos import commit, git
from tests.promoted import (
    JENKINS,
    MORE_TEKTON,
    SAAS,
    TEKTON,
    Source,
    make_bundle,
    make_source,
)
from tidegate.git.client.repository import open_repository
from tidegate.git.remote_url import same_repository
from tidegate.kinds.promotions.files.declared import named, promotions
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.versions import WrittenVersions, find_versions, rewritten
from tidegate.model.errors import UserError


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What the bundle deploys."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, source: Source) -> Path:
    """A person's clone of the bundle."""
    return make_bundle(tmp_path_factory.mktemp("bundle"), source)[1]


def files_of(folder: Path) -> Files:
    """The files of what is committed."""
    repository = open_repository(folder)
    return Files(repository, repository.resolve("HEAD"))


def found_in(files: Files) -> WrittenVersions:
    """Where the ready-made promotion stands."""
    return find_versions(files, promotions(files)[0])


def where(found: WrittenVersions, environment: str) -> dict[tuple[str, int], str]:
    """The values of an environment by file and line."""
    return {
        (held.file, held.line): held.value
        for held in found.values
        if held.environment == environment
    }


def test_every_place_is_found_by_what_it_is(folder: Path, source: Source) -> None:
    """Nothing is configured; a target in a file of its own and an alias are found too."""
    found = found_in(files_of(folder))
    short, second = source.first[:7], source.second[:7]
    assert not found.missing
    assert where(found, "pr-check") == {(".env", 3): short}
    assert where(found, "jenkins") == {(JENKINS, 3): short}
    assert where(found, "tekton") == {
        (TEKTON, 4): short,
        (TEKTON, 7): second,
        (MORE_TEKTON, 3): short,
    }
    assert set(where(found, "dashboards").values()) == {source.first}


def test_another_repository_in_the_same_file_is_not_meant(folder: Path, source: Source) -> None:
    """The manager's file deploys two; the one that is called like the promotion is meant."""
    assert set(where(found_in(files_of(folder)), "manager").values()) == {source.first}


@pytest.mark.parametrize("which", ["newest", "numeric", "second"])
def test_an_edit_touches_only_its_lines(folder: Path, source: Source, which: str) -> None:
    """Every other line is the same byte for byte: comments, quotes, line ends, flow maps."""
    files, version = files_of(folder), str(getattr(source, which))
    found = found_in(files)
    made = rewritten(files, found.spots, dict.fromkeys(_environments(found), version))
    assert set(made) == {held.file for held in found.values if not held.has(version)}
    for path, edited in made.items():
        original = files.read(path)
        assert original is not None
        old = original.text.splitlines(keepends=True)
        new = edited.data.decode().splitlines(keepends=True)
        changed = [line for line in difflib.ndiff(old, new) if line[0] == "-"]
        lines = {held.line for held in found.values if held.file == path and not held.has(version)}
        assert changed == [f"- {old[line - 1]}" for line in sorted(lines)]
        assert len(old) == len(new)


def test_there_and_back_is_the_identity(folder: Path, source: Source, tmp_path: Path) -> None:
    """What one promotion changes the next one changes back, to the byte, apart from added quotes.

    A value that reads as a number gets quotes and keeps them; so the way leads over another.
    """
    copy = tmp_path / "copy"
    git(folder, "clone", "-q", str(folder), str(copy))
    before = files_of(copy)
    first = _moved(copy, source.newest)
    _moved(copy, source.first)
    after = files_of(copy)
    for path in first:
        if path == TEKTON:
            continue  # two old values became one
        assert _bytes(before, path) == _bytes(after, path)


def _moved(folder: Path, version: str) -> tuple[str, ...]:
    files = files_of(folder)
    found = found_in(files)
    made = rewritten(files, found.spots, dict.fromkeys(_environments(found), version))
    commit(folder, {path: each.data for path, each in made.items()})
    return tuple(made)


def _bytes(files: Files, path: str) -> str:
    original = files.read(path)
    assert original is not None
    return original.text


def _environments(found: WrittenVersions) -> set[str]:
    return {held.environment for held in found.values}


def test_a_branch_that_is_followed_is_left_alone(tmp_path: Path, source: Source) -> None:
    """`master` in a target that is meant is found, and no edit is made of it."""
    _, folder = make_bundle(tmp_path, source)
    text = (folder / SAAS).read_text().replace(source.first, "master")
    commit(folder, {SAAS: text})
    files = files_of(folder)
    found = found_in(files)
    assert set(where(found, "manager").values()) == {"master"}
    assert SAAS not in rewritten(files, found.spots, {"manager": source.newest})


def test_a_declared_promotion_takes_the_place_of_the_ready_made(
    tmp_path: Path, source: Source
) -> None:
    """Its places are looked for, and one that is nowhere is reported by its environment."""
    _, folder = make_bundle(tmp_path, source)
    document = """---
$schema: /tidegate/promotion-1.yml
name: mine
artifact: {repository: https://git.example.com/app-sre/qontract-reconcile}
environments:
- name: one
  places:
  - {file: "data/integrations/*.yml", at: "managed[*].sharding.shardSpecOverrides[*].imageRef"}
- name: two
  places:
  - {saas: saas-nobody}
"""
    commit(folder, {"data/promotion.yml": document})
    files = files_of(folder)
    found = find_versions(files, named(promotions(files), "mine"))
    assert set(where(found, "one").values()) == {source.second[:7]}
    assert list(found.missing) == ["two"]
    with pytest.raises(UserError, match='no promotion "mini"; did you mean "mine"'):
        named(promotions(files), "mini")


def test_a_broken_document_is_reported_with_its_line(tmp_path: Path, source: Source) -> None:
    """A typing error does not fall back to the ready-made one."""
    _, folder = make_bundle(tmp_path, source)
    broken = "$schema: /tidegate/promotion-1.yml\nname: mine\nenvironments: [{nam: x}]\n"
    commit(folder, {"data/promotion.yml": broken})
    with pytest.raises(UserError, match=r"data/promotion.yml:3"):
        promotions(files_of(folder))


@pytest.mark.parametrize(
    "address",
    [
        "git@git.example.com:app-sre/qontract-reconcile.git",
        "ssh://git@git.example.com:2222/app-sre/qontract-reconcile",
        "https://user:secret@GIT.example.com/app-sre/qontract-reconcile.git/",
    ],
)
def test_one_repository_has_many_addresses(tmp_path: Path, source: Source, address: str) -> None:
    """Targets that are deployed over https are those of a promotion that is declared with ssh."""
    _, folder = make_bundle(tmp_path, source)
    declared = "$schema: /tidegate/promotion-1.yml\nname: mine\nenvironments:\n"
    declared += "- {name: manager, places: [{saas: saas-qontract-manager-int}]}\n"
    declared += f'artifact: {{repository: "{address}"}}\n'
    commit(folder, {"data/promotion.yml": declared})
    found = where(found_in(files_of(folder)), "manager")
    assert set(found.values()) == {"master", source.first}
    assert not same_repository(address, "https://git.example.com/app-sre/other")
    assert not same_repository(address, "https://other.example.com/app-sre/qontract-reconcile")
