"""One sentence everywhere: page, API, command line and merge request say a verdict in one way."""

import json
from html import unescape
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from click.testing import CliRunner

from tests.fixtures.journals import reading
from tests.page.stage import PageService
from tests.unit.test_request_text import FACTS
from tidegate.app.partitions.journals import Journals
from tidegate.cli.main import cli
from tidegate.explain.markup import code
from tidegate.explain.sentence import opens, sentence
from tidegate.kind_table import rules_of
from tidegate.kinds.promotions.app.requests.text import description
from tidegate.machine.system_clock import SystemClock
from tidegate.model.verdict import Verdict
from tidegate.wiring import open_store

# A journal of each kind; of each, the targets whose verdicts differ most.
KEPT = ("rollout-failing", "rollout-braked", "integrations-shards-7", "upgrades-lived-4")
TARGETS_MAX = 4


def _targets(journal: Path) -> list[tuple[str, str, tuple[Verdict, ...]]]:
    """Some targets that wait, each for other reasons, with the verdicts themselves."""
    archive = open_store(str(journal))
    found: dict[tuple[str, ...], tuple[str, str, tuple[Verdict, ...]]] = {}
    for one in Journals(archive, rules_of, SystemClock().now()).all():
        for row in one.view.targets:
            said = tuple(each for option in row.options for each in option.verdicts)
            reasons = tuple(sorted(each.reason.value for each in said))
            if said:
                found.setdefault(reasons, (one.partition, row.name, said))
    archive.close()
    return sorted(found.values(), key=lambda each: -len(each[2]))[:TARGETS_MAX]


@pytest.mark.parametrize("name", KEPT)
def test_a_verdict_is_said_alike_on_page_api_command_line_and_merge_request(
    name: str, tmp_path: Path
) -> None:
    """Its sentence and what opens it, word for word, from `explain/sentence.py`."""
    journal = tmp_path / "kept.db"
    service = PageService(journal)
    reading.take_in(service.archive, reading.export_of(name))
    reader, client, checked = service.reader().log_in(), service.client(), 0
    for rollout, target, verdicts in _targets(journal):
        where = f"/why/{rollout}?target={quote(target, safe='')}"
        page, document = unescape(reader.get(where).text), client.get(where).json
        asked = ["why", rollout, target, "--database", str(journal)]
        printed = CliRunner().invoke(cli, asked)
        assert printed.exit_code == 0, printed.output
        answered = json.dumps(document, ensure_ascii=False)
        # What a merge request says of the gates, here of these.
        subscriber = FACTS.promotions[0].changes[0].name
        request = description(msgspec.structs.replace(FACTS, said={subscriber: verdicts}))
        for each in verdicts:
            words, then = sentence(each), opens(each)
            if each.until is not None:
                continue  # how long it still is moves on between two questions
            assert f">{words}<" in page, (target, words)
            assert json.dumps(words, ensure_ascii=False) in answered, (target, words)
            assert words in printed.stdout, (target, words)
            assert code(words + (f" ({then})" if then else "")) in request, (target, words)
            checked += 1
    assert checked
    service.close()
