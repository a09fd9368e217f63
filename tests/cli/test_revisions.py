"""Two revisions of a bundle: which are compared, what they result in, and what is newly wrong."""

from pathlib import Path

import pytest

from tests.folders import Folder, git
from tidegate.kinds.integrations.app.check.comparison import RevisionComparison
from tidegate.kinds.integrations.cli.revisions import Revisions
from tidegate.model.errors import UserError
from tidegate.settings.settings import load


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A bundle in a repository: its first commit on main, and a branch for a change."""
    found = Folder(tmp_path / "bundle", {"prod-1": "production"})
    found.integration("dns")
    git(found.root, "init", "-q")
    _commit(found, "first")
    git(found.root, "checkout", "-qb", "change")
    return found


def _commit(folder: Folder, message: str) -> str:
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", message)
    return git(folder.root, "rev-parse", "HEAD")


def _compared(folder: Folder, base: str = "main", head: str | None = None) -> RevisionComparison:
    return Revisions(load({}, {}).settings(), folder.root, base, head).comparison


def _effects(compared: RevisionComparison) -> list[tuple[str, str, str, str]]:
    return [(e.fate.value, e.unit, e.before, e.after) for e in compared.effects.effects]


def test_the_base_is_where_the_head_left_it_and_not_its_tip(folder: Folder) -> None:
    """What others merged meanwhile is not undone by a change that does not have it."""
    parted = git(folder.root, "rev-parse", "main")
    folder.integration("dns", "bbbbbbb")
    mine = _commit(folder, "mine")
    git(folder.root, "checkout", "-q", "main")
    folder.integration("others")
    _commit(folder, "theirs")
    compared = _compared(folder, "main", "change")
    assert _effects(compared) == [("changed", "dns", "aaaaaaa", "bbbbbbb")]
    assert (compared.base.commit, compared.head.commit) == (parted, mine)
    assert compared.words == f"{parted[:7]} (where change branched from main) … {mine[:7]}"
    assert compared.changed == ("integrations/dns.yml",)


def test_a_folder_without_any_integration_is_the_wrong_one(folder: Folder) -> None:
    """A job in the wrong folder would report for ever that nothing is affected."""
    compared = Revisions(load({}, {}).settings(), folder.root / "aws", "main", None).comparison
    with pytest.raises(UserError, match="no integration is declared"):
        compared.check_folder()


def test_a_working_tree_is_compared_with_what_is_not_committed_yet(folder: Folder) -> None:
    folder.integration("dns", "bbbbbbb")
    _commit(folder, "mine")
    folder.integration("new", "ccccccc")
    compared = _compared(folder)
    assert _effects(compared) == [
        ("changed", "dns", "aaaaaaa", "bbbbbbb"),
        ("created", "new", "", "ccccccc"),
    ]
    assert compared.head.commit is None
    assert compared.words.endswith("(where HEAD branched from main) … the working tree")


def test_only_what_the_change_brings_is_newly_found_wherever_it_moved_to(folder: Folder) -> None:
    """An old fault below a line that was added above it stays an old one."""
    path = folder.root / "integrations/dns.yml"
    path.write_text(path.read_text() + "nonsense: 1\n")
    _commit(folder, "old fault")
    git(folder.root, "branch", "-f", "main")
    path.write_text(path.read_text().replace("name: dns", "description: dns\nname: dns\nwrong: 2"))
    compared = _compared(folder)
    assert len(compared.head.bundle.findings) == 2
    (new,) = compared.new_findings
    assert (new.path, compared.new_errors) == ("wrong", (new,))
    assert compared.fixed_findings == ()
    path.write_text("$schema: /app-sre/integration-1.yml\nname: dns\n")
    assert [each.path for each in _compared(folder).fixed_findings] == ["nonsense"]


def test_a_second_fault_that_says_the_same_is_new(folder: Folder) -> None:
    """They are counted: one was there before, two are now."""
    wrong = "$schema: /aws/account-1.yml\nname: one\n"
    folder.write("aws/again.yml", wrong)
    _commit(folder, "one twice")
    git(folder.root, "branch", "-f", "main")
    folder.write("aws/and-again.yml", wrong)
    (new,) = _compared(folder).new_findings
    assert new.rule == "duplicate"


def test_a_file_at_the_root_is_read_on_both_sides(folder: Folder) -> None:
    folder.write(".env", "export RECONCILE_IMAGE_TAG=aaaaaaa\n")
    assert _compared(folder).root_file(".env") == (None, b"export RECONCILE_IMAGE_TAG=aaaaaaa\n")
    _commit(folder, "env")
    git(folder.root, "branch", "-f", "main")
    folder.write(".env", "export RECONCILE_IMAGE_TAG=bbbbbbb\n")
    old, new = _compared(folder).root_file(".env")
    assert old == b"export RECONCILE_IMAGE_TAG=aaaaaaa\n"
    assert new == b"export RECONCILE_IMAGE_TAG=bbbbbbb\n"


def test_a_bundle_in_a_folder_that_is_new_comes_from_nothing(folder: Folder) -> None:
    """A story that begins with one has a base without it."""
    new = Folder(folder.root / "more" / "bundle", {"prod-2": "production"})
    new.integration("dns")
    assert [each[0] for each in _effects(_compared(new))] == ["created", "created"]
    _commit(new, "a second bundle")
    assert [each[0] for each in _effects(_compared(new, head="change"))] == ["created", "created"]
    with pytest.raises(UserError, match="not in this revision"):
        _ = _compared(new, head="main").head


def test_a_revision_that_is_not_there_or_shares_no_history_is_named(folder: Folder) -> None:
    with pytest.raises(UserError, match='no revision "mian"'):
        _ = _compared(folder, "mian").words
    git(folder.root, "checkout", "-q", "--orphan", "apart")
    _commit(folder, "another beginning")
    with pytest.raises(UserError, match="main and HEAD have no common commit here; fetch"):
        _ = _compared(folder).words


def test_a_file_beside_the_data_counts_for_a_person_who_names_it(tmp_path: Path) -> None:
    """By the schemas of the files that do, whether it is committed or not."""
    folder = Folder(tmp_path / "repo/data", {"prod-1": "production"})
    folder.write("services/a.yml", "$schema: /app-sre/app-1.yml\nname: a\npath: /tf/bucket.tf\n")
    folder.write("../resources/tf/bucket.tf", "one\n")
    folder.write("../resources/tf/nobody.tf", "one\n")
    folder.write("../README.md", "one\n")
    root = tmp_path / "repo"
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    for path in ("resources/tf/bucket.tf", "resources/tf/nobody.tf", "README.md"):
        (root / path).write_text("two\n")
    folder.write("../resources/tf/bucket.tf.more", "new\n")
    wanted = {"resources/tf/bucket.tf": frozenset(("/app-sre/app-1.yml",))}
    compared = Revisions(load({}, {}).settings(), root, "main", None)
    assert compared.comparison.changed_schemas == wanted
    git(root, "checkout", "-qb", "change")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    compared = Revisions(load({}, {}).settings(), root, "main", "change")
    assert compared.comparison.changed_schemas == wanted
    within = Revisions(load({}, {}).settings(), root / "data", "main", "change")
    assert within.comparison.changed_schemas == wanted
