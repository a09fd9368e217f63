"""The words a verdict is made of: outcomes, gates, reasons, and what is documented about each.

The tables that fill them in are reasons.py for rollouts, and brake_reasons.py,
promotion_reasons.py and upgrade_reasons.py for the brakes, promotions and upgrades.
"""

import enum

import msgspec


class Outcome(enum.Enum):
    """What a gate says about an option."""

    PASS = "pass"
    WAIT = "wait"
    STOP = "stop"


class Gate(enum.Enum):
    """What must hold before a target starts."""

    PROGRESS = "progress"  # what the target itself is doing
    RUNNING = "running"  # the rollout is neither paused nor aborted
    READING = "reading"  # we see all members of the group
    BUDGET = "budget"  # failures are within what is allowed
    ORDER = "order"  # everything that goes earlier is done
    APPROVAL = "approval"  # somebody let the group in
    SLOTS = "slots"  # there is room under maxConcurrency
    RETURN = "return"  # the way back to the last good revision
    HOLD = "hold"  # nobody stopped it by hand
    FREEZE = "freeze"  # the calendar allows it
    BLOCK = "block"  # the revision is allowed at all
    PIN = "pin"  # the target is not to stay where it is
    SHARED_BUDGET = "sharedBudget"  # there is room for one more, over all rollouts
    MUTEX = "mutex"  # nobody else has what only one may have
    HEALTH = "health"  # there is evidence that what has the change is well
    PLACES = "places"  # where the version is written is known
    DIRECTION = "direction"  # the version goes forward
    ARTIFACT = "artifact"  # what the version stands for is there
    SCHEMAS = "schemas"  # what the version needs of others is there
    LABELS = "labels"  # what its owners wrote can be read
    WINDOW = "window"  # its schedule fires soon
    VERSION = "version"  # the version is one it may go to
    SOAK = "soak"  # the version has run elsewhere for long enough
    SECTOR = "sector"  # the sectors that go earlier have the version
    AGREEMENT = "agreement"  # what the minor version asks for was agreed to
    CHANNEL = "channel"  # there is a channel of the next minor
    REFUSAL = "refusal"  # what is asked for was not refused a moment ago
    RULES = "rules"  # what the existing service's rules say, where they decide


class Kind(enum.Enum):
    """How a fact is shown."""

    COUNT = "count"
    NAME = "name"
    NAMES = "names"
    DURATION = "duration"
    INSTANT = "instant"


class Reason(enum.Enum):
    """Why a gate says what it says."""

    # progress
    InFlight = "InFlight"
    InFlightSaying = "InFlightSaying"
    InFlightUndated = "InFlightUndated"
    UnknownStatus = "UnknownStatus"
    Soaking = "Soaking"
    SoakingUndated = "SoakingUndated"
    Done = "Done"
    Skipped = "Skipped"
    Failed = "Failed"
    FailedSaying = "FailedSaying"
    TimedOut = "TimedOut"
    NoAnswer = "NoAnswer"
    JoinedLater = "JoinedLater"
    # running
    Running = "Running"
    Paused = "Paused"
    Aborted = "Aborted"
    # reading
    ReadingComplete = "ReadingComplete"
    ReadingIncomplete = "ReadingIncomplete"
    LeftEveryGroup = "LeftEveryGroup"
    MayBeUnseen = "MayBeUnseen"
    CoverUnclear = "CoverUnclear"
    # budget
    WithinBudget = "WithinBudget"
    OverBudget = "OverBudget"
    MandatoryTargetFailed = "MandatoryTargetFailed"
    # order
    FirstInOrder = "FirstInOrder"
    EarlierGroupsDone = "EarlierGroupsDone"
    EarlierGroupUnfinished = "EarlierGroupUnfinished"
    EarlierGroupReopened = "EarlierGroupReopened"
    EarlierGroupIncomplete = "EarlierGroupIncomplete"
    # approval
    Approved = "Approved"
    ApprovedStanding = "ApprovedStanding"
    ApprovedAsMandatory = "ApprovedAsMandatory"
    ApprovalMissing = "ApprovalMissing"
    ApprovedForOtherRevision = "ApprovedForOtherRevision"
    QuorumReached = "QuorumReached"
    QuorumMissing = "QuorumMissing"
    Rejected = "Rejected"
    AuthorUnknown = "AuthorUnknown"
    # slots
    SlotFree = "SlotFree"
    SlotHeld = "SlotHeld"
    NoSlotNeeded = "NoSlotNeeded"
    NoSlotFree = "NoSlotFree"
    BehindInRank = "BehindInRank"
    ConcurrencyZero = "ConcurrencyZero"
    # return
    Reverting = "Reverting"
    RollbackDue = "RollbackDue"
    Returning = "Returning"
    ReturnTimedOut = "ReturnTimedOut"
    ReturnFailed = "ReturnFailed"
    NoLastGood = "NoLastGood"
    # hold
    NoHold = "NoHold"
    Held = "Held"
    HeldUntil = "HeldUntil"
    HoldSpares = "HoldSpares"
    # freeze
    NotFrozen = "NotFrozen"
    Frozen = "Frozen"
    TooLateBeforeFreeze = "TooLateBeforeFreeze"
    FinishUnknown = "FinishUnknown"
    CalendarEnds = "CalendarEnds"
    FreezeExcepted = "FreezeExcepted"
    FreezeSpares = "FreezeSpares"
    # block
    NotBlocked = "NotBlocked"
    Blocked = "Blocked"
    BlockedUntil = "BlockedUntil"
    RevisionUnnamed = "RevisionUnnamed"
    # pin
    NotPinned = "NotPinned"
    Pinned = "Pinned"
    PinnedUntil = "PinnedUntil"
    # shared budget
    SharedBudgetFree = "SharedBudgetFree"
    SharedBudgetOwn = "SharedBudgetOwn"
    SharedBudgetSpent = "SharedBudgetSpent"
    SharedBudgetStuck = "SharedBudgetStuck"
    SharedBudgetZero = "SharedBudgetZero"
    # mutex
    MutexFree = "MutexFree"
    MutexOwn = "MutexOwn"
    MutexHeld = "MutexHeld"
    MutexHeldUndated = "MutexHeldUndated"
    MutexStuck = "MutexStuck"
    MutexGoesToOther = "MutexGoesToOther"
    # health
    HealthGood = "HealthGood"
    HealthBad = "HealthBad"
    HealthAlerts = "HealthAlerts"
    HealthUnproven = "HealthUnproven"
    HealthStale = "HealthStale"
    HealthMissing = "HealthMissing"
    HealthUndated = "HealthUndated"
    HealthOfOther = "HealthOfOther"
    # places
    PlacesFound = "PlacesFound"
    PlaceMissing = "PlaceMissing"
    NothingHeld = "NothingHeld"
    FollowsBranch = "FollowsBranch"
    # direction
    Forward = "Forward"
    Backward = "Backward"
    NotDescendant = "NotDescendant"
    AncestryUnknown = "AncestryUnknown"
    BackwardAllowed = "BackwardAllowed"
    # order, of environments
    EarlierEnvironmentsHaveIt = "EarlierEnvironmentsHaveIt"
    EarlierEnvironmentBehind = "EarlierEnvironmentBehind"
    # artifact
    ImageThere = "ImageThere"
    ImageUnasked = "ImageUnasked"
    ImageMissing = "ImageMissing"
    ImageUnknown = "ImageUnknown"
    # schemas
    SchemasNotNamed = "SchemasNotNamed"
    SchemasSuffice = "SchemasSuffice"
    SchemasNeeded = "SchemasNeeded"
    # labels
    LabelsRead = "LabelsRead"
    LabelsUnreadable = "LabelsUnreadable"
    OrgLabelsUnreadable = "OrgLabelsUnreadable"
    # reading, of a cluster
    ClusterUnreadable = "ClusterUnreadable"
    ClusterUnread = "ClusterUnread"
    OrgPartlyRead = "OrgPartlyRead"
    # progress, of an upgrade
    NothingUnderWay = "NothingUnderWay"
    ClusterNotReady = "ClusterNotReady"
    UpgradeUnderWay = "UpgradeUnderWay"
    UpgradeFailed = "UpgradeFailed"
    UpgradedByOwner = "UpgradedByOwner"
    TwoUpgrades = "TwoUpgrades"
    PoolsBehind = "PoolsBehind"
    EarlierPoolFirst = "EarlierPoolFirst"
    UpgradeNotStarted = "UpgradeNotStarted"
    AddonUnderWay = "AddonUnderWay"
    AddonFailed = "AddonFailed"
    AddonNotReady = "AddonNotReady"
    AddonPlanLeft = "AddonPlanLeft"
    AddonPlanDropped = "AddonPlanDropped"
    ClusterFirst = "ClusterFirst"
    EarlierAddonFirst = "EarlierAddonFirst"
    # window
    InWindow = "InWindow"
    OutsideWindow = "OutsideWindow"
    AddonOutsideWindow = "AddonOutsideWindow"
    ScheduleOver = "ScheduleOver"
    WindowExpedited = "WindowExpedited"
    # block, of a version
    VersionNotBlocked = "VersionNotBlocked"
    VersionBlocked = "VersionBlocked"
    VersionUnwanted = "VersionUnwanted"
    # version
    VersionOffered = "VersionOffered"
    VersionUnreadable = "VersionUnreadable"
    VersionNotNewer = "VersionNotNewer"
    PreReleaseUnwanted = "PreReleaseUnwanted"
    NewerVersionChosen = "NewerVersionChosen"
    NothingOffered = "NothingOffered"
    FollowsControlPlane = "FollowsControlPlane"
    # soak, of a version
    NoSoakNeeded = "NoSoakNeeded"
    VersionSoaked = "VersionSoaked"
    VersionSoaking = "VersionSoaking"
    SoakExpedited = "SoakExpedited"
    VersionTrusted = "VersionTrusted"
    VersionQuarantined = "VersionQuarantined"
    FailuresUnread = "FailuresUnread"
    # sector
    NoSectorBefore = "NoSectorBefore"
    SectorsHaveIt = "SectorsHaveIt"
    SectorBehind = "SectorBehind"
    SectorMemberUnreadable = "SectorMemberUnreadable"
    SectorMemberUnread = "SectorMemberUnread"
    SectorCircle = "SectorCircle"
    InheritedBehind = "InheritedBehind"
    InheritanceUnverified = "InheritanceUnverified"
    # slots, of a sector
    SectorRoom = "SectorRoom"
    SectorFull = "SectorFull"
    SectorZero = "SectorZero"
    SectorLimitUnreadable = "SectorLimitUnreadable"
    # mutex, of clusters
    MutexShared = "MutexShared"
    MutexShareFull = "MutexShareFull"
    MutexUpgrading = "MutexUpgrading"
    MutexUpgradeFailed = "MutexUpgradeFailed"
    MutexUnread = "MutexUnread"
    # agreement
    NoAgreementNeeded = "NoAgreementNeeded"
    AgreementsThere = "AgreementsThere"
    AgreementMissing = "AgreementMissing"
    AgreementWanted = "AgreementWanted"
    AgreementUnasked = "AgreementUnasked"
    NothingToAgree = "NothingToAgree"
    # health, of a cluster
    ClusterHealthy = "ClusterHealthy"
    AlertsShown = "AlertsShown"
    AlertsYoung = "AlertsYoung"
    HealthUnasked = "HealthUnasked"
    # channel
    ChannelThere = "ChannelThere"
    UpgradeFirst = "UpgradeFirst"
    # refusal
    RefusedLately = "RefusedLately"
    # rules
    ExistingRulesStart = "ExistingRulesStart"
    ExistingRulesWait = "ExistingRulesWait"


class Entry(msgspec.Struct, frozen=True):
    """What is documented about one reason."""

    gate: Gate
    outcome: Outcome
    # Filled with the facts by name; `{failed:target}` also writes the noun in its number.
    sentence: str
    facts: tuple[tuple[str, Kind], ...] = ()
    # What would open the gate; empty where it is open or nothing needs to.
    opens: str = ""
