"""Pipelines on the engine: a version moves by evidence, and says why it waits."""

from msgspec.structs import replace

from tests.pipeline_stage import DAY, HOUR, PARTITION, Shelf, Stage, publisher, subscriber, webhook
from tests.pipelined import NEW, NEWER, OLD, declared
from tidegate.journal.fact import Mode
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.promotions.core.channels.journal.facts import (
    BisectConfirmed,
    EvidenceReported,
    QuarantineLifted,
)
from tidegate.kinds.promotions.core.channels.model import ShardRuns
from tidegate.kinds.promotions.core.channels.pipeline import EvidenceRule, Pipeline, TrustRule
from tidegate.kinds.promotions.core.requests.model import (
    ChecksResult,
    HeldPromotion,
    RequestOrigin,
    SeenRequest,
)

STAGE = publisher("stage", "payments")


def shelf(pipeline: Pipeline | None = None, soak: int = 0) -> Shelf:
    """One publisher, and two subscribers of its channel."""
    some = (subscriber("prod", "payments", soak=soak), subscriber("prod-eu", "payments"))
    return Shelf(pipeline or declared(), [STAGE], some)


def test_a_version_is_offered_merged_and_done() -> None:
    """Nothing before it is deployed; then one request for both, and no second one."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.round(2)
    assert stage.reasons("prod") == ["PublisherUndeployed"]
    assert stage.forge.acts == []
    stage.deployed(NEW)
    stage.round(4)
    assert stage.forge.acts == ["open"]
    assert stage.states() == {"prod": "Updating", "prod-eu": "Updating"}
    assert stage.reasons("prod") == ["RequestUnchecked"]
    stage.forge.merge(1)
    stage.round(3)
    assert stage.refs() == {"prod": NEW, "prod-eu": NEW}
    assert stage.states() == {"prod": "Done", "prod-eu": "Done"}
    assert stage.forge.acts == ["open"]


def test_an_observer_offers_nothing_and_records_what_it_would() -> None:
    """Trust first: nothing is done unless a worker is told to act."""
    stage = Stage(shelf(), mode=Mode.OBSERVE)
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(3)
    assert stage.forge.acts == []
    # Nothing has begun, so nothing is called so.
    assert stage.states() == {"prod": "Waiting", "prod-eu": "Waiting"}


def test_without_a_forge_a_subscriber_waits_for_it() -> None:
    """Which requests are open is not known, so none is opened."""
    stage = Stage(shelf(), forge=False)
    stage.deployed(NEW)
    stage.round(2)
    assert stage.reasons("prod") == ["RequestsUnread"]


def test_soak_is_a_fold_of_facts_and_says_until_when() -> None:
    """The subscriber without soak goes at once; the other when its day is over."""
    stage = Stage(shelf(soak=DAY))
    assert stage.forge is not None
    stage.deployed(NEW)
    result = stage.round(2)
    assert stage.reasons("prod") == ["PublisherSoaking"]
    assert stage.reasons("prod-eu") == ["RequestUnchecked"]
    assert result.plan is not None
    assert result.plan.recheck_at == stage.shelf.deployed[0].at + DAY
    stage.forge.merge(1)
    stage.later(DAY)
    stage.round(2)
    assert stage.states() == {"prod": "Updating", "prod-eu": "Done"}
    assert stage.forge.open_numbers() == [2]


def test_a_failed_version_is_quarantined_until_a_person_lifts_it() -> None:
    """Also where the failure was seen in another environment than those of its publishers."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    stage.forge.merge(1)
    stage.round()
    stage.shelf.write(stage.shelf.subscribers.copy().popitem()[0], OLD)
    prod = next(iter(stage.shelf.subscribers))
    webhook(stage, NEW, prod, good=False)
    stage.round(2)
    assert stage.reasons("prod-eu") == ["PromotionQuarantined"]
    assert stage.states()["prod-eu"] == "Failed"
    assert PARTITION in stage.view().partition
    stage.say(QuarantineLifted(version=NEW, reason="the node was full"))
    stage.round(2)
    assert stage.reasons("prod-eu") == ["RequestUnchecked"]


def test_a_newer_version_goes_on_though_an_older_one_is_quarantined() -> None:
    """A fix goes forward."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.deployed(NEW, good=False)
    stage.round(2)
    assert "PromotionQuarantined" in stage.reasons("prod")
    stage.shelf.release(NEWER)
    stage.later(HOUR)
    stage.deployed(NEWER)
    stage.round(2)
    assert stage.reasons("prod") == ["RequestUnchecked"]


def test_a_version_that_is_tried_on_stage_goes_nowhere_else() -> None:
    """Good as it is there: no subscriber gets it, until stage is written as before."""
    stage, tried = Stage(shelf()), "d" * 40
    assert stage.forge is not None
    stage.deployed(NEW, good=False)
    stage.round(2)
    step = BisectConfirmed(version=NEW, target=STAGE.name, ref=STAGE.ref, step=tried)
    stage.say(step)
    stage.say(step)
    stage.shelf.publishers = {STAGE.name: replace(STAGE, ref=tried, version=tried)}
    stage.round()
    stage.deployed(tried)
    stage.round(2)
    (made,) = stage.state().known.bisections[NEW].tries
    assert (made.good, made.by) == (True, "user:ada")
    assert stage.reasons("prod") == ["TriedOnStage"]
    assert stage.forge.acts == []
    stage.shelf.publishers = {STAGE.name: replace(STAGE, version=NEWER)}
    stage.later(HOUR)
    stage.deployed(NEWER)
    stage.round(2)
    assert stage.reasons("prod") == ["RequestUnchecked"]
    stage.say(QuarantineLifted(version=NEW, reason="it was the node"))
    assert stage.state().known.bisections == {}


def test_a_pipeline_is_trusted_once_promotions_went_well() -> None:
    """The first needs another person; what it wrote runs, and the next needs none."""
    stage = Stage(shelf(declared(trust=TrustRule(promotions=1))))
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    assert stage.reasons("prod") == ["QuorumMissing"]
    assert stage.view().needs.approvals == (f"trust/{NEW[:7]}",)
    stage.ask(Asked(verb=Verb.APPROVE, gates=(f"trust/{NEW[:7]}",), version=NEW))
    stage.round(2)
    stage.forge.merge(1)
    stage.round()
    assert stage.state().known.well_number == 0
    stage.deployed(NEW, *stage.shelf.subscribers)
    stage.round()
    assert stage.state().known.well_number == 1
    stage.shelf.release(NEWER)
    stage.later(HOUR)
    stage.deployed(NEWER)
    stage.round(2)
    assert stage.reasons("prod") == ["RequestUnchecked"]


def test_evidence_is_what_ran_and_what_was_reported() -> None:
    """Deployed is not executed; what else counts is declared by name."""
    rule = EvidenceRule(runs=2, named=("load-test",))
    stage = Stage(shelf(declared(evidence=rule)))
    stage.deployed(NEW)
    stage.round(2)
    assert stage.reasons("prod") == ["ExecutionUnseen", "NamedEvidenceMissing"]
    stage.shelf.runs = {STAGE.name: ShardRuns(version=NEW, shards=3, clean=2)}
    stage.say(EvidenceReported(version=NEW, name="load-test", good=True), "token:ci")
    stage.round(2)
    assert stage.reasons("prod") == ["RequestUnchecked"]


def test_pause_resume_abort_and_retry() -> None:
    """An abort is of the version there is now."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.ask(Asked(verb=Verb.PAUSE))
    stage.deployed(NEW)
    stage.round(2)
    assert (stage.reasons("prod"), stage.view().summary) == (["Paused"], "Paused")
    stage.ask(Asked(verb=Verb.RESUME))
    stage.ask(Asked(verb=Verb.ABORT))
    stage.round(2)
    assert stage.reasons("prod") == ["Aborted"]
    stage.ask(Asked(verb=Verb.RETRY))
    stage.round(2)
    assert stage.reasons("prod") == ["RequestUnchecked"]


def test_an_open_request_is_closed_once_a_gate_shuts() -> None:
    """It could be merged by a queue at any moment."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    assert stage.forge.open_numbers() == [1]
    stage.ask(Asked(verb=Verb.PAUSE))
    stage.round(3)
    assert stage.forge.open_numbers() == [1]  # a pause starts nothing and takes nothing back
    stage.ask(Asked(verb=Verb.RESUME))
    stage.deployed(NEW, good=False)
    stage.round(3)
    assert stage.forge.open_numbers() == []
    assert "PromotionQuarantined" in stage.reasons("prod")


def test_a_forge_that_fails_is_asked_again_under_the_same_key() -> None:
    """And one request comes of it."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.forge.failing = 2
    stage.deployed(NEW)
    for _ in range(6):
        stage.round()
        stage.later(10 * 60 * 1_000_000_000)
    assert stage.forge.acts == ["open"]


def test_a_batch_that_fails_alone_is_the_culprit_and_said_so() -> None:
    """Its subscribers are failed, and the request stays for people."""
    stage = Stage(shelf())
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    stage.forge.check(1, ChecksResult.FAILED)
    stage.round(2)
    assert stage.reasons("prod") == ["CulpritFound"]
    assert stage.states() == {"prod": "Failed", "prod-eu": "Failed"}


def test_every_decision_is_replayed_to_the_same() -> None:
    """Through soak, quarantine, approval and merge."""
    stage = Stage(shelf(declared(trust=TrustRule(promotions=1)), soak=HOUR))
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    stage.ask(Asked(verb=Verb.APPROVE, gates=(f"trust/{NEW[:7]}",), version=NEW))
    stage.round(2)
    stage.later(2 * HOUR)
    stage.round(3)
    for number in stage.forge.open_numbers():
        stage.forge.merge(number)
    stage.round(2)
    stage.deployed(NEW, good=False)
    stage.round(2)
    replayed = list(stage.rules.replay(stage.store.read(PARTITION), lambda _names, _at: {}))
    assert len(replayed) > 4
    assert [each.difference for each in replayed if each.difference] == []


def test_the_state_survives_being_kept() -> None:
    """A projection is as good as the facts."""
    stage = Stage(shelf())
    stage.deployed(NEW)
    stage.round(3)
    state = stage.state()
    assert stage.rules.decode(stage.rules.encode(state)) == state


def existing(number: int, *channels: str) -> SeenRequest:
    """An open merge request of the existing manager."""
    return SeenRequest(
        number=number,
        url=f"https://git.example.com/!{number}",
        branch=f"sapm-{number}",
        holds=(HeldPromotion(channels, "0" * 32),),
        origin=RequestOrigin.EXISTING,
    )


def test_shadow_compares_with_the_merge_requests_of_the_existing_manager() -> None:
    """What only it wanted says what kept us; where it was never seen, there is nothing."""
    stage = Stage(shelf(), mode=Mode.OBSERVE)
    assert stage.forge is not None
    stage.round(2)
    none = stage.rules.shadow(stage.store.read(PARTITION), lambda _names, _at: {})
    assert none is None
    stage.forge.others = (existing(7, "payments"),)
    stage.round(2)
    found = stage.rules.shadow(stage.store.read(PARTITION), lambda _names, _at: {})
    assert found is not None
    (one,) = found.differ
    assert (one.target, one.ours_at) == ("payments", None)
    assert "was not seen to deploy" in one.why
    stage.deployed(NEW)
    stage.round(2)
    found = stage.rules.shadow(stage.store.read(PARTITION), lambda _names, _at: {})
    assert found is not None
    assert found.differ == ()
    assert len(found.decisions) == 1
