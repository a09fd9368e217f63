"""The person who proposed a revision is in the journal, where its declaration names one."""

import msgspec

from tests.hub_stage import HubStage, Worker, play
from tests.policies import body, spec, template
from tests.property.promotion_histories import PROMOTION
from tidegate.git.history import Ancestry, Commit
from tidegate.kinds.promotions.core.journal.known import PromotionReading, PromotionState
from tidegate.kinds.promotions.core.world import Relation
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kubernetes.port import POLICY
from tidegate.model.time import Instant


def test_a_policy_names_its_author_in_an_annotation() -> None:
    """Of the revision that is declared, and of no other; another author is another declaration."""

    async def story(stage: HubStage, worker: Worker) -> None:
        rules, known = worker.part.rules, worker.part
        await worker.round()
        state = known.state
        assert state.declared is not None
        first = state.declared.revision or ""
        assert rules.proposers(state, first) == frozenset()
        wanted = spec(template(spec=body("2")))
        notes = {"annotations": {"tidegate.dev/author": "ann@example.com"}}
        stage.hub.put(POLICY, "web-source", "web", metadata=notes, spec=wanted)
        await worker.round()
        state = known.state
        assert state.declared is not None
        second = state.declared.revision or ""
        assert second != first
        assert rules.proposers(state, second) == frozenset(("ann@example.com",))
        assert rules.proposers(state, first) == frozenset()

    stage = play(story)
    facts = [entry.fact() for entry in stage.store.read("policies/policies.web")]
    authors = [each.author for each in facts if isinstance(each, RolloutDeclared)]
    assert authors[-1] == "ann@example.com"


def test_a_promotion_is_proposed_by_the_authors_of_its_commits() -> None:
    """By name and by address; where not all commits are known, no proposer is."""
    rules, at = PromotionRules(), Instant(0)
    commits = tuple(
        Commit(sha=name * 40, author=name, email=f"{name}@example.com", at=at, subject="x")
        for name in ("a", "b")
    )
    assert rules.proposers(PromotionState(), "v") == frozenset()
    related = {"old": Relation(Ancestry.AHEAD, 2)}
    read = PromotionReading(promotion=PROMOTION, commits=commits, relations=related)
    found = rules.proposers(PromotionState(read=read), "v")
    assert found == {"a", "a@example.com", "b", "b@example.com"}
    more = msgspec.structs.replace(read, relations={"old": Relation(Ancestry.AHEAD, 3)})
    assert rules.proposers(PromotionState(read=more), "v") == frozenset()
