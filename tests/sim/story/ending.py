"""The journal at the end of a story: it verifies, nothing acknowledged is lost, it folds alike."""

from typing import Any, TypeVar

from tests.sim.story.scene import Scene
from tidegate.engine.kind import Rules
from tidegate.engine.partition import PartitionState
from tidegate.journal.chain import JournalEntry, genesis, verify

S = TypeVar("S")


def check_journal(
    scene: Scene, partition: str, rules: Rules[S, Any, Any]
) -> tuple[list[JournalEntry], S]:
    """The entries of a partition, and the state they fold to."""
    entries = list(scene.store.read(partition))
    found = verify(genesis(partition), 1, entries)
    assert found is None, f"{partition}: {found}"
    hashes = {entry.seq: entry.hash for entry in entries}
    acks = [head for name, head in scene.witness.acks if name == partition and head.seq]
    lost = [head for head in acks if hashes.get(head.seq) != head.hash]
    assert not lost, f"{partition}: acknowledged and lost: {lost[:3]}"
    state = rules.empty()
    for entry in entries:
        state = rules.fold(state, entry.at, entry.fact(), entry.actor)
    kept = PartitionState(scene.store, partition, rules).state
    assert state == kept, f"{partition}: the projection is another state"
    return entries, state
