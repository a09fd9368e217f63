"""`lint`: labels that do not have the effect their owner expects."""

from tidegate.kinds.upgrades.app.read.world import FleetDocument, FleetReading
from tidegate.kinds.upgrades.core.lint.findings import LintFinding
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.model.document import Part


class LabelFinding(Part, frozen=True, kw_only=True):
    """One label, or one effect of labels, that its owner may want to change."""

    severity: str
    code: str
    environment: str
    org: str
    cluster: str | None
    label: str | None
    value: str | None
    message: str
    remedy: str


class LintReport(FleetDocument, frozen=True, kw_only=True):
    """All findings: by organisation, the worst first."""

    findings: tuple[LabelFinding, ...]

    @property
    def clean(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return all(each.severity == "note" for each in self.findings)


def lint_fleet(fleet: FleetReading) -> LintReport:
    """Check the labels of every organisation, and run the rules ahead to see their effect."""
    found = [each for reading in fleet.readings for each in lint(reading.world, reading.now)]
    return LintReport(
        errors=fleet.errors(), notes=fleet.notes(), findings=tuple(map(label_finding, found))
    )


def label_finding(one: LintFinding) -> LabelFinding:
    """One finding."""
    return LabelFinding(
        severity=one.severity,
        code=one.code,
        environment=one.env,
        org=one.org,
        cluster=one.cluster or None,
        label=one.label or None,
        value=one.value if one.label else None,
        message=one.message,
        remedy=one.remedy,
    )
