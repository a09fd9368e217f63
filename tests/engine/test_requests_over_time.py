"""Requested versions while the world goes on: newer versions, other requests, files that change."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.test_promotion_kind import Clusters, Worker
from tests.engine.test_promotion_rounds import NAME
from tests.engine.test_promotion_rounds import Round as Site
from tests.engine.test_requested_versions import merge, offers, reasons, request, view, written
from tests.git_repos import clone, commit, git
from tests.promoted import JENKINS, REPOSITORY, Source, make_source
from tidegate.explain.notice import NoticeKind
from tidegate.forge.port import RequestState
from tidegate.gates.approval import ApprovalGate
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import EVERYTHING
from tidegate.journal.fact import Mode
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.promotions.app.plan import plan_promotion
from tidegate.kinds.promotions.app.survey import PromotionRequest
from tidegate.kinds.promotions.rules import PromotionRules

PROMOTION = f"""---
$schema: /tidegate/promotion-1.yml
name: qontract-reconcile
artifact: {{repository: {REPOSITORY}}}
environments:
- {{name: env, places: [{{file: .env, line: 'export RECONCILE_IMAGE_TAG='}}]}}
- name: jenkins
  after: [env]
  places: [{{file: 'resources/**/defaults.yaml', key: qontract_reconcile_image_tag}}]
"""


class Story:
    """A worker on a bundle and an artifact of its own, both of which people change."""

    def __init__(self, folder: Path) -> None:
        self.source: Source = make_source(folder / "own")
        self.worker = Worker(Site(folder / "site", self.source))
        self._work = clone(self.source.bare, folder / "work")
        self.worker.round(Mode.OBSERVE)

    def newer(self, text: str) -> str:
        """One more commit of the artifact."""
        made = commit(self._work, {"z": text}, f"newer {text}")
        git(self._work, "push", "-q", "origin", "HEAD:main")
        return made

    def edit(self, files: dict[str, str]) -> None:
        """A person changes the bundle."""
        site = self.worker.site
        git(site.clone, "fetch", "-q")
        git(site.clone, "reset", "-q", "--hard", "origin/main")
        commit(site.clone, files, "by hand")
        git(site.clone, "push", "-q", "origin", "HEAD:main")

    def rounds(self, number: int = 3, mode: Mode = Mode.ACT) -> None:
        """So many rounds of a worker."""
        for _ in range(number):
            self.worker.round(mode)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A story of one's own."""
    return Story(tmp_path)


def test_a_version_that_was_aborted_goes_out_once_it_is_requested(story: Story) -> None:
    """Not decided and dropped in every round: a newer version ended the abort."""
    worker, aborted = story.worker, story.source.newest
    worker.ask(NAME, Asked(verb=Verb.ABORT))
    story.rounds(1)
    story.newer("1")
    worker.ask(NAME, Asked(verb=Verb.PAUSE))
    story.rounds(1)
    request(worker, aborted, "jenkins")
    worker.ask(NAME, Asked(verb=Verb.RESUME))
    story.rounds()
    [asked] = offers(worker, "jenkins")
    assert aborted[:7] in asked.description
    size = len(worker.tags())
    story.rounds(2)
    assert len(worker.tags()) == size


def test_a_request_leaves_the_merge_request_that_others_have_by_now(story: Story) -> None:
    """It was updated without this environment: what is requested goes into another one."""
    worker = story.worker
    story.rounds(2)
    [opened] = worker.requests()
    newer = story.newer("1")
    by_hand = written(worker, JENKINS).replace(story.source.first[:7], newer[:7])
    story.edit({JENKINS: by_hand})
    story.rounds()
    request(worker, story.source.second, "jenkins", backward=True)
    story.rounds()
    [asked] = offers(worker, "jenkins")
    assert asked.number != opened.number
    assert story.source.second[:7] in asked.description
    assert newer[:7] in next(e for e in worker.requests() if e.number == opened.number).description


def test_a_branch_that_is_requested_again_is_read_again(story: Story) -> None:
    """What it was for another request, or before, is not what it is now."""
    worker, before = story.worker, story.source.newest
    request(worker, "origin/main", "jenkins")
    story.rounds(2, Mode.OBSERVE)
    newer = story.newer("1")
    request(worker, "origin/main", "manager")
    story.rounds(2, Mode.OBSERVE)
    next_ = {each.name: each.next for each in view(worker).targets}
    assert (next_["jenkins"], next_["manager"]) == (before[:7], newer[:7])
    request(worker, "origin/main", "jenkins")
    story.rounds(3)
    assert newer[:7] in offers(worker, "jenkins")[-1].description


def went_back(story: Story) -> None:
    """The newest is everywhere but in one environment, which a person had go back."""
    story.rounds(2)
    merge(story.worker)
    request(story.worker, story.source.second, "jenkins", backward=True)
    story.rounds()
    merge(story.worker)
    assert "VersionKept" in reasons(story.worker, "jenkins")


def test_what_is_kept_and_requested_again_is_still_kept(story: Story) -> None:
    """The newest does not undo it; a version that goes forward from it ends it."""
    went_back(story)
    worker, size = story.worker, len(story.worker.requests())
    ident = request(worker, story.source.second[:10], "jenkins")
    story.rounds()
    assert "VersionKept" in reasons(worker, "jenkins")
    assert [each.ident for each in view(worker).requests] == [ident]
    assert len(worker.requests()) == size
    request(worker, story.source.newest, "jenkins")
    story.rounds()
    merge(worker)
    assert not view(worker).requests
    assert story.source.newest[:7] in written(worker, JENKINS)


def test_a_file_that_cannot_be_read_ends_no_request(story: Story) -> None:
    """What is written there is not known: it may be what was requested."""
    went_back(story)
    worker, size = story.worker, len(story.worker.requests())
    before = written(worker, JENKINS)
    story.edit({JENKINS: f"qontract_reconcile_image_tag: {{\n{before}"})
    story.rounds()
    story.edit({JENKINS: before})
    story.rounds()
    assert "VersionKept" in reasons(worker, "jenkins")
    assert len(worker.requests()) == size


def test_one_environment_after_the_other_gets_what_is_requested(story: Story) -> None:
    """The first is checked for a version that is requested for the next, not for its own alone."""
    worker, clusters = story.worker, Clusters()
    story.edit({"data/promotion.yml": PROMOTION})
    worker.site.ports = replace(worker.site.ports, running=clusters)
    worker.restart()
    story.rounds()
    merge(worker)
    assert set(worker.states().values()) == {"Done"}
    middle = story.newer("1")
    story.newer("2")
    request(worker, middle, "env")
    story.rounds()
    clusters.differing = ("tf/a: 1 pod not replaced yet",)
    merge(worker)
    assert not view(worker).requests, "it went forward, and the newest is wanted next"
    worker.ask(NAME, Asked(verb=Verb.PAUSE))
    request(worker, middle, "jenkins")
    story.rounds()
    assert "EarlierEnvironmentNotRunning" in reasons(worker, "jenkins")
    clusters.differing = ()
    story.rounds()
    assert "EarlierEnvironmentsHaveIt" in reasons(worker, "jenkins")


def test_an_offer_that_was_closed_before_does_not_stop_a_request(story: Story) -> None:
    """A person closes it, and another requests the version before that is seen."""
    worker = story.worker
    request(worker, story.source.second, "jenkins")
    story.rounds()
    [first] = offers(worker, "jenkins")
    asyncio.run(worker.site.forge.decline(first.number))
    request(worker, story.source.second, "jenkins")
    story.rounds()
    states = [each.state for each in offers(worker, "jenkins")]
    assert states == [RequestState.CLOSED, RequestState.OPEN]
    request(worker, story.source.second, "jenkins")
    story.rounds()
    asyncio.run(worker.site.forge.decline(offers(worker, "jenkins")[-1].number))
    story.rounds(1)
    assert not view(worker).requests, "it was its merge request, too"


def test_an_environment_that_follows_a_branch_by_now_has_no_request(story: Story) -> None:
    """It moves by itself: nothing that a person requested of it is carried out."""
    worker = story.worker
    story.edit({"data/promotion.yml": PROMOTION})
    story.rounds(1)
    request(worker, "no-such-tag", "env")
    story.rounds(2)
    assert [each.targets for each in view(worker).requests] == [("env",)]
    first, _, rest = PROMOTION.partition("- {name: env")
    follows = f"{first}- {{name: env, follows: main{rest.removeprefix(', places')}"
    follows = follows.replace(": [{file: .env, line: 'export RECONCILE_IMAGE_TAG='}]}", "}")
    story.edit({"data/promotion.yml": follows})
    story.rounds(2)
    assert not view(worker).requests


def test_people_are_told_of_each_version_that_waits_for_an_approval(story: Story) -> None:
    """That of the newest says nothing of one that was requested, and the other way around."""
    worker, source = story.worker, story.source
    request(worker, source.second, "jenkins")
    story.rounds(2, Mode.OBSERVE)
    part, rules, now = worker._part(), PromotionRules(), worker.clock.now()
    part.catch_up()
    brakes = Brakes(approvals=(ApprovalGate(name="board", scope=EVERYTHING),))
    world = rules.world(part.state, brakes, now, lambda _: None)
    assert world is not None
    part.state.told["approvalNeeded/board"] = now
    due = rules.notices(NAME, part.state, world, rules.decide(world, now), now)
    assert [each.revision for each in due.notices] == [source.second[:7]]
    assert due.retired == ()


def test_a_person_who_requests_the_newest_version_proposed_it_at_once(story: Story) -> None:
    """Before it is read as a version that was requested, too."""
    worker, newest = story.worker, story.source.newest
    request(worker, newest, "jenkins")
    part = worker._part()
    part.catch_up()
    assert "user:ada" in PromotionRules().proposers(part.state, newest)


def test_people_are_told_when_a_requested_version_is_there(story: Story) -> None:
    """Its request has ended by then, and the newest version is next."""
    worker, source = story.worker, story.source
    request(worker, source.second, "jenkins")
    story.rounds()
    merge(worker)
    part, rules, now = worker._part(), PromotionRules(), worker.clock.now()
    part.catch_up()
    part.state.told[f"start/jenkins/{source.second[:7]}"] = now
    world = rules.world(part.state, Brakes(), now, lambda _: None)
    assert world is not None
    due = rules.notices(NAME, part.state, world, rules.decide(world, now), now)
    done = [each for each in due.notices if each.happening is NoticeKind.DONE]
    assert [(each.subjects, each.revision) for each in done] == [(("jenkins",), source.second[:7])]


def test_what_replaces_an_unknown_commit_stays_until_it_is_withdrawn(story: Story) -> None:
    """Whether it went forward is not known: the newest version would undo what was allowed."""
    worker = story.worker
    lost = written(worker, JENKINS).replace(story.source.first[:7], "abcdef1")
    story.edit({JENKINS: lost})
    story.rounds(1, Mode.OBSERVE)
    ident = request(worker, story.source.second, "jenkins")
    story.rounds()
    assert "AncestryUnknown" in reasons(worker, "jenkins")
    assert view(worker).needs.requests == (ident,), "a person has to decide"
    request(worker, story.source.second, "jenkins", backward=True)
    story.rounds()
    asyncio.run(worker.site.forge.merge(offers(worker, "jenkins")[-1].number))
    story.rounds()
    assert story.source.second[:7] in written(worker, JENKINS)
    assert "VersionKept" in reasons(worker, "jenkins")


def test_a_plan_shows_the_lines_of_the_version_that_was_requested(story: Story) -> None:
    """As `why env/NAME` has them, which knows the journal."""
    worker, second = story.worker, story.source.second
    request(worker, second, "jenkins")
    story.rounds(2, Mode.OBSERVE)
    part = worker._part()
    part.catch_up()
    asked = PromotionRequest(promotion=NAME.partition("/")[2], to=("jenkins",))
    found = asyncio.run(
        plan_promotion(worker.site.ports, asked, Brakes(), worker.clock.now(), lambda _: part.state)
    )
    assert [each.new for each in found.document().edits] == [second[:7]]
