"""The alerts of every kind, by Prometheus' own word; those of upgrades have a file of their own."""

import re
from pathlib import Path

import pytest
import yaml

from tests.real.promtool import promtool
from tests.unit.test_alerts import ROOT, RULES, expressions

pytestmark = pytest.mark.real


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_promtool_tests_every_alert(path: Path) -> None:
    """When it fires, with which labels, and when it does not."""
    assert "SUCCESS" in promtool("check", "rules", path)
    told = promtool("test", "rules", path.with_name(path.name.replace(".rules.", ".test.")))
    assert told.split()[-1] == "SUCCESS", told


def test_a_rule_that_fires_too_late_is_noticed(tmp_path: Path) -> None:
    """The tests of the rules can fail."""
    for name in ("tidegate.rules.yaml", "tidegate.test.yaml"):
        text = (ROOT / "deploy/prometheus" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("for: 5m", "for: 5h"), encoding="utf-8")
    assert "FAILED" in promtool("test", "rules", tmp_path / "tidegate.test.yaml")


def test_promtool_understands_every_dashboard(tmp_path: Path) -> None:
    """Every expression, as a rule of its own."""
    letters = str.maketrans("0123456789", "abcdefghij")
    texts = (re.sub(r"\[\$\w+\]", "[1h]", text) for _, text in expressions())
    rules = [
        {"record": f"x:{str(at).translate(letters)}", "expr": re.sub(r"\$\w+", ".*", text)}
        for at, text in enumerate(texts)
    ]
    path = tmp_path / "dashboards.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}), encoding="utf-8")
    assert f"SUCCESS: {len(rules)} rules found" in promtool("check", "rules", path)
