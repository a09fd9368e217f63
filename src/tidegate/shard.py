"""For authors of integrations: which keys are this shard's.

    from tidegate.shard import Shard

    shard = Shard.from_env()
    for namespace in namespaces:
        if shard.owns(f"{cluster}/{namespace}"):
            ...

`SHARDS` and `SHARD_ID` say which of how many this process is; every key belongs to exactly one of
them. A key goes by the MD5 of its UTF-8 text, modulo the number of shards, as it always did. With
`SHARD_HASH=rendezvous` it goes to the shard with the highest score for it instead: from 20 shards
to 21 one key in 21 moves, not nearly all of them.

This module imports nothing but the standard library.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b, md5

MODULO, RENDEZVOUS = "modulo", "rendezvous"


@dataclass(frozen=True, slots=True)
class Shard:
    """One of so many shards."""

    index: int = 0
    count: int = 1
    # What the shard as a whole is about: an account, a cluster; empty: nothing in particular.
    key: str = ""
    hash: str = MODULO

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"SHARDS={self.count}: write 1 or more")
        if not 0 <= self.index < self.count:
            raise ValueError(f"SHARD_ID={self.index}: write 0 to {self.count - 1}")
        if self.hash not in (MODULO, RENDEZVOUS):
            raise ValueError(f"SHARD_HASH={self.hash}: write {MODULO} or {RENDEZVOUS}")

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "Shard":
        """The shard that `SHARDS`, `SHARD_ID`, `SHARD_KEY` and `SHARD_HASH` describe."""
        env = os.environ if env is None else env
        return cls(
            _whole(env, "SHARD_ID", 0),
            _whole(env, "SHARDS", 1),
            env.get("SHARD_KEY", ""),
            env.get("SHARD_HASH") or MODULO,
        )

    def owns(self, key: str) -> bool:
        """Whether a key is this shard's."""
        return self.count == 1 or owner(key, self.count, self.hash) == self.index


def owner(key: str, count: int, hash: str = MODULO) -> int:  # noqa: A002
    """Which of so many shards a key belongs to."""
    text = key.encode()
    if hash == MODULO:
        return int.from_bytes(md5(text, usedforsecurity=False).digest(), "big") % count
    return max(range(count), key=lambda index: _score(text, index))


def _score(text: bytes, index: int) -> bytes:
    return blake2b(text, digest_size=16, key=b"shard-%d" % index).digest()


def _whole(env: Mapping[str, str], name: str, otherwise: int) -> int:
    text = env.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name}={text}: not a whole number")
    return int(text)
