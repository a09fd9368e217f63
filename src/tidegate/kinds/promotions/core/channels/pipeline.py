"""A pipeline as declared: which subscribers it moves, and under which conditions.

Which channels there are, what publishes to them and what subscribes is written in saas files. A
pipeline says what these do not: how soak is counted, what counts as evidence, and who must agree.
"""

import msgspec

from tidegate.kinds.promotions.core.channels.model import SkippableGate, SoakRule

# The first part of the names of partitions of pipelines.
KIND = "channels"
# As many promotions as the existing manager puts into one merge request.
BATCH_MAX = 5
# The gate at which a second person approves while a pipeline is not trusted yet.
TRUST_GATE = "trust"
OPERATOR = "operator"


class EvidenceRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What must be seen of a version before it is promoted, beside its deployment."""

    # Clean runs of every shard that depends on a publisher; 0: none are asked for.
    runs: int = 0
    # Results with these names, which people or programs report of a version.
    named: tuple[str, ...] = ()


class TrustRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Until so many promotions went well, each needs the approval of other people."""

    promotions: int = 0
    quorum: int = 1
    # The people whose approval counts; empty: every person but the authors.
    people: tuple[str, ...] = ()


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Subscribers that are promoted by one set of rules."""

    name: str
    # Patterns for the names of saas files, and of channels, whose subscribers it moves.
    saas: tuple[str, ...] = ("*",)
    channels: tuple[str, ...] = ("*",)
    soak_rule: SoakRule = SoakRule.CONTINUOUS
    # Of the schedules of its subscribers; empty: UTC.
    zone: str = ""
    batch_max: int = BATCH_MAX
    labels: tuple[str, ...] = ()
    # The label that says how soon a merge queue takes its merge requests; empty: none.
    priority: str = ""
    evidence: EvidenceRule = EvidenceRule()
    trust: TrustRule = TrustRule()
    # The role that can lift a quarantine.
    quarantine_role: str = OPERATOR
    # Which gates the `hotfixVersions` of code components skip, and the person who declares it.
    hotfix_skips: tuple[SkippableGate, ...] = ()
    hotfix_owner: str = ""
    # Where it is declared: file and line.
    where: str = ""

    @property
    def partition(self) -> str:
        """What is led, recorded and decided as one."""
        return f"{KIND}/{self.name}"
