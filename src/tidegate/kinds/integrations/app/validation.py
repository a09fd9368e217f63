"""Everything that is wrong with a bundle, all at once; and the clusters that it names."""

from tidegate.app.access.policy import policy_findings
from tidegate.bundle.finding import BundleFinding, in_order
from tidegate.bundle.section import Bundle
from tidegate.kinds.integrations.app.estate import check_files
from tidegate.kinds.integrations.bundle.lint import overdue
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant


class BundleFindings(Document, frozen=True, kw_only=True):
    """What `validate` answers."""

    findings: tuple[BundleFinding, ...]
    errors: int
    warnings: int
    files: int


def validate(bundle: Bundle, now: Instant, prefix: str, where: str) -> BundleFindings:
    """Every finding of a bundle, files as people open them; UserError if it has no files."""
    check_files(bundle, where)
    late = overdue(INTEGRATIONS.of(bundle).integrations, now)
    found = in_order((*bundle.findings, *late))
    return BundleFindings(
        findings=tuple(each.under(prefix) for each in found),
        errors=bundle.errors,
        warnings=len(found) - bundle.errors,
        files=bundle.files,
    )


def with_policy(found: BundleFindings, path: str) -> BundleFindings:
    """The same, and everything that is wrong with the policy file of a service."""
    more = policy_findings(path)
    return BundleFindings(
        findings=in_order((*found.findings, *more)),
        errors=found.errors + len(more),
        warnings=found.warnings,
        files=found.files + 1,
    )


def cluster_namespaces(bundle: Bundle, where: str) -> dict[str, set[str]]:
    """The clusters of managed integrations, and the namespaces that those run in."""
    spaces: dict[str, set[str]] = {}
    for integration in INTEGRATIONS.of(bundle).integrations:
        for managed in integration.managed:
            namespace = managed.namespace
            spaces.setdefault(namespace.cluster, set()).add(namespace.name)
    if not spaces:
        problem = Problem("", "no managed integration", "name the directory of a bundle")
        raise UserError((problem,), where=where)
    return dict(sorted(spaces.items()))
