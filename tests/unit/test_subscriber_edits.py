"""Versions of subscribers are written where they are meant, and nowhere else."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.git_repos import clone, git, remote
from tidegate.git.client.repository import open_repository
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.core.requests.model import SubscriberChange, promotion_of
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.subscriber_edits import edited_subscribers
from tidegate.model.errors import StaleError

OLD, NEW, OTHER = "a" * 40, "b" * 40, "c" * 40
FILE, TARGET = "data/saas.yml", "data/target.yml"
SAAS = f"""---
$schema: /app-sre/saas-file-2.yml
name: saas
resourceTemplates:
- name: app
  targets:
  - {{namespace: {{$ref: /ns.yml}}, ref: '{OLD}', promotion: {{auto: true, subscribe: [b, a]}}}}
  - namespace: {{$ref: /ns.yml}}
    ref: {OLD}   # of another combination
    promotion: {{auto: true, subscribe: [a]}}
  - name: second
    namespace: {{$ref: /ns.yml}}
    ref: {OLD}
    promotion:
      auto: true
      subscribe: [a, b]
      promotion_data:
      - channel: a
        data:
        - type: parent_saas_config
          parent_saas: stage
          target_config_hash: old   # by the machine
  - namespace: {{$ref: /ns.yml}}
    ref: {OLD}
    promotion: {{auto: false, subscribe: [a, b]}}
- name: other
  targets:
  - {{namespace: {{$ref: /ns.yml}}, ref: {OLD}, promotion: {{auto: true, subscribe: [a, b]}}}}
"""
CHANGE = SubscriberChange(
    file=FILE, template="app", namespace="/ns.yml", name="saas:app", old=OLD, version=NEW
)
A, B = ConfigHash("a", "stage", "new"), ConfigHash("b", "stage-b", "hash")


def files_in(folder: Path, **changed: str) -> Files:
    bare = remote(folder, {FILE: SAAS, TARGET: target(), **changed})
    repository = open_repository(clone(bare, folder / "clone"))
    return Files(repository, git(folder / "clone", "rev-parse", "HEAD"))


def target(ref: str = OLD) -> str:
    return (
        "$schema: /app-sre/saas-file-target-1.yml\nname: alone\nnamespace: {$ref: /ns.yml}\n"
        f'ref: "{ref}"  # kept\npromotion: {{auto: true, subscribe: [a, b]}}\n'
    )


def written(files: Files, *changes: SubscriberChange) -> dict[str, list[str]]:
    """The lines that changed, as they are afterwards."""
    made = edited_subscribers(files, [promotion_of(("a", "b"), changes)])
    found = {}
    for path, each in made.items():
        before = files.text(path).splitlines()
        found[path] = [ln for ln in each.data.decode().splitlines() if ln not in before]
    return found


def test_one_target_of_many_alike_is_changed(tmp_path: Path) -> None:
    """The template, the name, the channels in any order, and `auto` have to be the same."""
    flow = f"  - {{namespace: {{$ref: /ns.yml}}, ref: '{NEW}', promotion: {{auto: true, "
    assert written(files_in(tmp_path), CHANGE) == {FILE: [f"{flow}subscribe: [b, a]}}}}"]}


def test_a_target_in_a_file_of_its_own_is_that_file(tmp_path: Path) -> None:
    """Its comment and its quotes stay."""
    alone = replace(CHANGE, file=TARGET, template="", target="alone", name="saas:alone")
    assert written(files_in(tmp_path), alone) == {TARGET: [f'ref: "{NEW}"  # kept']}


def test_configurations_of_publishers_are_written_with_it(tmp_path: Path) -> None:
    """A hash that is there is replaced, another channel is added; its own comment stays."""
    second = replace(CHANGE, target="second", hashes=(A, B))
    assert written(files_in(tmp_path), second)[FILE] == [
        f"    ref: {NEW}",
        "          target_config_hash: new   # by the machine",
        "      - channel: b",
        "          parent_saas: stage-b",
        "          target_config_hash: hash",
    ]


def test_configurations_are_added_where_there_are_none(tmp_path: Path) -> None:
    """Both at once, and nothing the second time."""
    files = files_in(tmp_path)
    both = replace(CHANGE, hashes=(A, B))
    made = edited_subscribers(files, [promotion_of(("a", "b"), (both,))])
    text = made[FILE].data.decode()
    assert text.count("target_config_hash") == 3
    (tmp_path / "again").mkdir()
    again = files_in(tmp_path / "again", **{FILE: text})
    assert edited_subscribers(again, [promotion_of(("a", "b"), (both,))]) == {}


@pytest.mark.parametrize(
    "change, why",
    [
        (replace(CHANGE, old=OTHER), "was seen with ccccccc, and has aaaaaaa now"),
        (replace(CHANGE, target="third"), "is not there any more"),
        (replace(CHANGE, file="data/gone.yml"), "is not there any more"),
        (replace(CHANGE, file="data/bad.yml"), "cannot be read"),
    ],
)
def test_a_file_that_is_not_as_it_was_seen_is_refused(
    change: SubscriberChange, why: str, tmp_path: Path
) -> None:
    """Nothing is written, and the place is named."""
    files = files_in(tmp_path, **{"data/bad.yml": "a: [\n"})
    with pytest.raises(StaleError, match=why):
        edited_subscribers(files, [promotion_of(("a", "b"), (change,))])


def test_a_version_that_is_there_changes_nothing(tmp_path: Path) -> None:
    """A crash after the merge repeats the act, and that is nothing."""
    files = files_in(tmp_path, **{TARGET: target(NEW)})
    alone = replace(CHANGE, file=TARGET, template="", target="alone")
    assert edited_subscribers(files, [promotion_of(("a", "b"), (alone,))]) == {}
