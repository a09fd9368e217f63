"""What was found: whose it is, which label, what stands there, what follows, what to write instead.

An *error* means that something can never happen as it is written; a *warning* that it will
happen otherwise, or too late; a *note* that it has no effect, or cannot be fixed here.
Codes are public: people search for them.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["error", "warning", "note"]


class LintCode(msgspec.Struct, frozen=True):
    """What a kind of finding is, in general."""

    severity: Severity
    says: str


CODES: dict[str, LintCode] = {
    "label": LintCode("error", "A label that cannot be read, so that its cluster or sector holds"),
    "unknown-label": LintCode("warning", "A label that is unknown, and ignored"),
    "unknown-sector": LintCode("error", "A sector that the organisation does not declare"),
    "sector-circle": LintCode("error", "Sectors that wait for each other"),
    "sector-closed": LintCode("warning", "A sector whose limit lets no cluster be upgraded"),
    "stuck-sector": LintCode(
        "error", "A sector others wait for, with a cluster that goes no further"
    ),
    "no-canary": LintCode(
        "error", "A workload in which every cluster waits for the soak of others"
    ),
    "no-soak": LintCode(
        "warning", "A version that no cluster runs, or will, under a workload that waits"
    ),
    "mutex-deadlock": LintCode(
        "error", "A mutex whose holder goes no further, so that others wait"
    ),
    "unreachable-window": LintCode(
        "error", "A schedule at none of whose times an upgrade can start"
    ),
    "end-of-life": LintCode(
        "warning", "A version that ends before the cluster is expected to leave"
    ),
    "ended": LintCode("error", "A version that is no longer supported"),
    "blocks-everything": LintCode("warning", "A pattern that blocks every version there can be"),
    "missing-agreement": LintCode("warning", "A version gate that is not agreed to"),
    "refused-agreement": LintCode(
        "note", "An agreement to a version gate that Tidegate is refused; nothing for its owner"
    ),
    "automatic-upgrades": LintCode(
        "warning", "A cluster that OpenShift Cluster Manager upgrades by itself, beside its labels"
    ),
    "unverified-inheritance": LintCode("error", "Soak of an organisation that does not publish it"),
    "self-inheritance": LintCode("warning", "An organisation that inherits from itself"),
    "phantom-item": LintCode("warning", "An item of a list that is empty or stands there twice"),
    "blank-item": LintCode("note", "An item with blanks around it, which not every reader drops"),
    "alike-names": LintCode("warning", "Names that differ only in case or blanks, and so are two"),
    "lonely-mutex": LintCode("note", "A mutex that only one cluster has, so that it excludes none"),
    "pre-release-only": LintCode("note", "A cluster that is offered nothing but pre-releases"),
}
"""Every finding there can be."""

RANKS: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
"""The worst comes first."""


class LintFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that its owner may want to change."""

    code: str
    env: str
    org: str
    cluster: str = ""  # empty: it is the organisation's
    label: str = ""  # without its prefix; empty: no label says it
    value: str = ""
    message: str
    remedy: str

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return CODES[self.code].severity

    @property
    def owner(self) -> str:
        """Who can change it."""
        return f"cluster/{self.cluster}" if self.cluster else f"org/{self.org}"


def in_order(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
    """Each once: by organisation, the worst first, then by whose it is."""
    return tuple(sorted(dict.fromkeys(findings), key=_order))


def _order(one: LintFinding) -> tuple[str, str, int, str, str, str, str]:
    rank = RANKS[one.severity]
    return one.env, one.org, rank, one.code, one.cluster, one.label, one.message


# A finding names this many others; more would not fit on a line.
_NAMES_MAX = 3


def names(several: Iterable[str]) -> str:
    """Some names, the first few in full: `a, b, c and 4 more`."""
    every = sorted(set(several))
    if len(every) <= _NAMES_MAX:
        return ", ".join(every)
    return f"{', '.join(every[:_NAMES_MAX])} and {len(every) - _NAMES_MAX} more"
