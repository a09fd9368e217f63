"""Ten thousand targets with every verdict fit into one answer: what they share is sent once."""

import gzip
from pathlib import Path

from tests.api.stage import Service, decided_once

TARGETS = 10_000
# Compressed, as a browser gets it.
BYTES_MAX = 40_000


def test_ten_thousand_targets_are_under_forty_kilobytes(tmp_path: Path) -> None:
    """In ten groups, two of them under way: state, group and every verdict of each target."""
    scenario = tmp_path / "big.yaml"
    groups = ", ".join(f"{{name: g{each}, count: {TARGETS // 10}}}" for each in range(10))
    scenario.write_text(
        f"revision: v2\nlastGood: v1\ngroups: [{groups}]\n"
        "strategy: {type: ProgressivePerGroup, progressivePerGroup:"
        " {minSuccessTime: 1h, maxConcurrency: 10%}}\n",
        encoding="utf-8",
    )
    journal = decided_once(scenario, tmp_path / "big.db")
    answer = Service(journal).client().get("/cells/simulated/big")
    assert answer.status == 200
    assert len(answer.json["names"]) == len(answer.json["cells"]) == TARGETS
    assert max(answer.json["cells"]) == len(answer.json["kinds"]) - 1
    assert len(gzip.compress(answer.text.encode(), 6)) < BYTES_MAX
