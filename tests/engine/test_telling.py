"""Notices: at least once, none twice, and no round ever waits for it."""

import asyncio
from collections.abc import Callable

from tests.engine.stage import DEMO, PARTITION, Process, Stage, Tripwire, set_up
from tidegate.engine.notify import NoticeQueue
from tidegate.explain.notice import Notice, NoticeKind
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Mode, Told, Verb
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore

EVERYTHING = frozenset(NoticeKind)


class Chat:
    """A notifier that keeps what it is sent, and may refuse."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.heard: list[Notice] = []

    async def send(self, notice: Notice) -> None:
        """Take it, or not."""
        if self.refuses:
            self.refuses -= 1
            raise OutsideError("not now")
        self.heard.append(notice)

    def said(self) -> list[tuple[str, tuple[str, ...]]]:
        """What was heard: the event and its subjects."""
        return [(each.happening.value, each.subjects) for each in self.heard]


class Outcomes:
    """What became of notices."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def __call__(self, notice: Notice, outcome: str, why: str) -> None:
        """One more."""
        self.found.append((notice.happening.value, outcome))


def teller(
    chat: Chat,
    wanted: frozenset[NoticeKind] = EVERYTHING,
    most: int = 10,
    outcomes: Outcomes | None = None,
) -> NoticeQueue:
    """A teller that rests for no time at all."""
    return NoticeQueue(chat, wanted, most, outcomes or Outcomes(), rest_s=0)


async def live(
    stage: Stage,
    make: Callable[[], NoticeQueue],
    *,
    mode: Mode = Mode.ACT,
    restarts: Callable[[NoticeQueue], bool] = lambda _: False,
) -> None:
    """Run to rest, telling all the way; at a restart everything in memory is lost."""
    process, telling = Process(stage), make()
    sending = asyncio.create_task(telling.run())
    for _ in range(60):
        if process.lease is not None and restarts(telling):
            sending.cancel()
            stage.store.release(process.lease)
            process, telling = Process(stage), make()
            sending = asyncio.create_task(telling.run())
        done = await process.round(mode)
        assert process.lease is not None
        assert process.last is not None
        await telling.round_ended(process.last, done)
        for _ in range(5):
            await asyncio.sleep(0)
        moments = [done.recheck_at, stage.fleet.fleets[PARTITION].next_end()]
        later = [each for each in moments if each is not None and each > stage.clock.at]
        if later:
            stage.clock.at = min(later)
    sending.cancel()
    assert process.lease is not None
    stage.store.release(process.lease)


def story(**fleet: object) -> dict[str, object]:
    """The demo, with some clusters behaving otherwise."""
    return {**DEMO, "fleet": {"applyTime": "10m", **fleet}}


GOOD = [("start", ()), ("done", ())]
BAD = [("start", ()), ("stop", ("stopped",)), ("failure", ("c", "d"))]


def test_a_good_rollout_is_reported_when_it_starts_and_when_it_is_done() -> None:
    """Two notices, however many rounds."""
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(chat)))
    assert chat.said() == GOOD


def test_a_bad_rollout_is_reported_with_its_failures_together() -> None:
    """What failed in one round is one notice, and says how."""
    document = story(clusters={"c": {"fails": "no image"}, "d": {"fails": "no image"}})
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire(), document)
    asyncio.run(live(stage, lambda: teller(chat)))
    assert chat.said() == BAD
    assert chat.heard[1].why == "1 of 4 done, 2 failed"
    assert chat.heard[2].why == "c failed, and 1 more"
    # Each is as of the entry that it was found in: the decision that stopped it.
    entries = {each.seq: each.kind for each in stage.store.read(PARTITION)}
    assert {entries[each.entry] for each in chat.heard[1:]} <= {"decided", "acted"}


def test_a_new_leader_repeats_nothing() -> None:
    """Another person takes over after every round whose notices are written down."""
    document = story(clusters={"c": {"fails": "no image"}, "d": {"fails": "no image"}})
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire(), document)
    asyncio.run(live(stage, lambda: teller(chat), restarts=lambda one: not one._sent))
    assert chat.said() == BAD


def test_what_was_sent_and_not_written_is_reported_again_under_its_key() -> None:
    """At least once: a process that dies in between leaves the next one to tell it again."""
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(chat), restarts=lambda _: True))
    starts = [each for each in chat.heard if each.happening is NoticeKind.START]
    assert len(starts) > 1
    assert len({each.keys for each in starts}) == 1


def test_what_was_not_taken_comes_back() -> None:
    """Refused again and again, it is reported in the end; each refusal is heard of."""
    chat, outcomes = Chat(refuses=3), Outcomes()
    stage = set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(chat, outcomes=outcomes)))
    assert ("start", "failed") in outcomes.found
    assert [outcome for _, outcome in outcomes.found].count("failed") == 3
    assert chat.said()[-1] == ("done", ())


def test_what_is_only_observed_is_sent_to_no_one() -> None:
    """A chat is an outside system too."""
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(chat), mode=Mode.OBSERVE))
    assert chat.heard == []
    assert not [e for e in stage.store.read(PARTITION) if isinstance(e.fact(), Told)]


def test_only_what_is_wanted_is_reported_and_the_rest_is_not_caught_up_on() -> None:
    """A person who wants the end alone gets it; what was not wanted then is not reported later."""
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(chat, frozenset({NoticeKind.DONE}))))
    assert chat.said() == [("done", ())]
    asyncio.run(live(stage, lambda: teller(chat)))
    assert chat.said() == [("done", ())]


def test_a_second_pause_is_reported_again() -> None:
    """What ended may come again."""
    chat, stage = Chat(), set_up(MemoryStore(), Tripwire())

    def ask(verb: Verb) -> None:
        stage.store.append(
            PARTITION, [JournalNote(stage.clock.now(), "user:ada", Asked(verb=verb))]
        )

    async def told() -> None:
        process, telling = Process(stage), teller(chat)
        sending = asyncio.create_task(telling.run())
        for verb in (None, Verb.PAUSE, Verb.RESUME, Verb.PAUSE):
            if verb is not None:
                ask(verb)
            for _ in range(3):
                done = await process.round()
                assert process.lease is not None
                assert process.last is not None
                await telling.round_ended(process.last, done)
                for _ in range(5):
                    await asyncio.sleep(0)
        sending.cancel()

    asyncio.run(told())
    assert chat.said() == [("start", ()), ("stop", ("paused",)), ("stop", ("paused",))]


def notice(name: str) -> Notice:
    """Some notice of a rollout."""
    return Notice(name, NoticeKind.START, "v2", (), "why", ("@v2/start/",))


def test_a_full_queue_drops_the_oldest_and_says_so() -> None:
    """Bounded, and the newest matters most; the dropped one is still due."""

    async def fill() -> None:
        outcomes = Outcomes()
        chat = Chat()
        telling = teller(chat, most=3, outcomes=outcomes)
        for i in range(5):
            telling._offer(notice(f"x/{i}"), set())
            telling._offer(notice(f"x/{i}"), set())
        assert telling.waiting == 3
        assert outcomes.found == [("start", "dropped")] * 2
        telling.forget("x/3")
        sending = asyncio.create_task(telling.run())
        for _ in range(10):
            await asyncio.sleep(0)
        sending.cancel()
        assert [each.rollout for each in chat.heard] == ["x/2", "x/4"]

    asyncio.run(fill())


def test_a_round_never_waits_for_a_chat_that_hangs() -> None:
    """Nothing is sent, and the rollout is done all the same."""

    class Hanging(Chat):
        async def send(self, notice: Notice) -> None:
            await asyncio.Event().wait()

    stage = set_up(MemoryStore(), Tripwire())
    asyncio.run(live(stage, lambda: teller(Hanging())))
    assert {task.target for task in stage.fleet.done.values()} == {"a", "b", "c", "d"}
    assert stage.clock.at > Instant(0)
