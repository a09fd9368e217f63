"""Findings as people and programs read them: lines, GitHub annotations, SARIF."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tidegate import __version__
from tidegate.bundle.finding import BundleFinding

# What SARIF 2.1.0 calls itself.
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(findings: Sequence[BundleFinding], prefix: str) -> str:
    """A line each: where, how bad, what, and what to write."""
    return "\n".join(
        f"{prefix}{each.file}:{each.line}:{each.column}: {each.severity}: {said(each)}"
        for each in findings
    )


def github(findings: Sequence[BundleFinding], prefix: str) -> str:
    """Commands that put each beside its line in a pull request."""
    return "\n".join(
        annotation(
            each.severity,
            said(each),
            file=prefix + each.file,
            line=str(each.line),
            col=str(each.column),
            title=f"tidegate: {each.rule}",
        )
        for each in findings
    )


def annotation(severity: str, message: str, **properties: str) -> str:
    """One command that shows a message beside a change."""
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_LEVELS.get(severity, severity)} {given}::{_message(message)}"


# What GitHub calls it.
_LEVELS = {"note": "notice"}


def sarif(findings: Sequence[BundleFinding], prefix: str) -> str:
    """A log in the Static Analysis Results Interchange Format."""
    from tidegate.wiring.bundles import bundle_rules

    rules = [
        {"id": name, "shortDescription": {"text": text}} for name, text in bundle_rules().items()
    ]
    driver = {"name": "tidegate", "version": __version__, "rules": rules}
    results = [_result(each, prefix) for each in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return _formatted({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


FORMATS: dict[str, Callable[[Sequence[BundleFinding], str], str]] = {
    "text": text,
    "github": github,
    "sarif": sarif,
}


def said(finding: BundleFinding) -> str:
    """The message of a finding, without its place."""
    start = f"{finding.path}: " if finding.path else ""
    return f"{start}{finding.message}" + (f"; {finding.remedy}" if finding.remedy else "")


def _result(finding: BundleFinding, prefix: str) -> dict[str, Any]:
    from urllib.parse import quote

    place = {
        "artifactLocation": {"uri": quote(prefix + finding.file)},
        "region": {"startLine": finding.line, "startColumn": finding.column},
    }
    return {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": said(finding)},
        "locations": [{"physicalLocation": place}],
    }


def _formatted(data: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


def _message(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _message(value).replace(":", "%3A").replace(",", "%2C")
