"""Reads many files, in several processes where that is worth it, and keeps what they say.

Only looking at an object changes it, since Python counts who does, and a page of memory that two
processes share is copied when one of them changes it: 5 to 10 µs each, and there are thousands. So
the bytes of neighbouring files are one object before there is a fork, and a process changes no page
of those that it does not read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

import msgspec

from tidegate.bundle.catalogue import Catalogue
from tidegate.bundle.leaf import Leaf, decode_leaf, encode_leaf, read_leaf
from tidegate.machine.cache import Cache
from tidegate.machine.processes import ForkPool, SharedWork, processes

# Called with the number of files that were read since the last call.
Progress = Callable[[int], None]
# How many bytes of new files are in memory at once.
BATCH_BYTES = 64 << 20
# A process is worth its start for so many bytes: some 600 files, which take 40 ms.
PROCESS_BYTES_MIN = 1 << 20
# What a process takes at once: some 80 files, which take 5 ms.
PART_BYTES = 1 << 17
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode

# A file as it is used, and as it is kept.
_ReadFile = tuple[Leaf, bytes]


class _Part(NamedTuple):
    """Some files: the bytes of all, and where those of each end."""

    paths: list[str]
    raw: bytes
    ends: list[int]

    def files(self) -> Iterator[bytes]:
        start = 0
        for end in self.ends:
            yield self.raw[start:end]
            start = end


def _batches(files: Iterable[tuple[str, bytes]]) -> Iterator[list[_Part]]:
    """Files in parts, as many at a time as may be in memory."""
    batch: list[_Part] = []
    weight = 0
    for part in _parts(files):
        batch.append(part)
        weight += len(part.raw)
        if weight >= BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _parts(files: Iterable[tuple[str, bytes]]) -> Iterator[_Part]:
    paths: list[str] = []
    raws: list[bytes] = []
    weight = 0
    for path, raw in files:
        paths.append(path)
        raws.append(raw)
        weight += len(raw)
        if weight >= PART_BYTES:
            yield _part(paths, raws)
            paths, raws, weight = [], [], 0
    if paths:
        yield _part(paths, raws)


def _part(paths: list[str], raws: list[bytes]) -> _Part:
    return _Part(paths, b"".join(raws), list(accumulate(map(len, raws))))


class FileReader:
    """Reads files, and puts what they say into a cache; by another process, where there is one."""

    def __init__(
        self,
        types: Catalogue,
        cache: Cache,
        keys: Mapping[str, bytes],
        progress: Progress | None = None,
        cores: int | None = None,
    ) -> None:
        self._types = types
        self._cache = cache
        # Of each file, by path.
        self._keys = keys
        self.progress: Progress = progress or (lambda _: None)
        # None: as many as there is use for.
        self._cores = cores
        self._parts: list[_Part] = []
        self._found: list[list[_ReadFile]] = []
        self._crew: ForkPool[_Part, list[_ReadFile]] | None = None

    def __enter__(self) -> "FileReader":
        return self

    def __exit__(self, *_: object) -> None:
        if self._crew is not None:
            self._crew.close()

    def read(self, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, Leaf]]:
        """What each file says, by path."""
        for parts in _batches(files):
            self.finish()
            self._start(parts)
            for part, found in self._read_parts():
                yield from zip(part.paths, (leaf for leaf, _ in found), strict=True)

    def finish(self) -> None:
        """Wait until what was read is kept."""
        if self._crew is None:
            return
        if not self._crew.finish():
            self._put((part, [kept for _, kept in found]) for part, found in self._read_parts())
        self._crew.close()
        self._crew, self._parts, self._found = None, [], []

    def _start(self, parts: list[_Part]) -> None:
        cores = processes() if self._cores is None else self._cores
        count = min(cores, sum(len(part.raw) for part in parts) // PROCESS_BYTES_MIN)
        work = SharedWork(
            here=self._read,
            elsewhere=self._elsewhere,
            decode=self._decoded,
            encode=_encoded,
            last=self._keep if self._cache.shared else None,
        )
        self._parts = parts
        self._crew = ForkPool(work, parts, count)
        self._found = self._crew.results()

    def _read(self, part: _Part) -> list[_ReadFile]:
        found: list[_ReadFile] = []
        for raw in part.files():
            leaf = read_leaf(raw, self._types)
            found.append((leaf, encode_leaf(leaf)))
            self.progress(1)
        return found

    def _elsewhere(self, part: _Part) -> bytes:
        return _encode([encode_leaf(read_leaf(raw, self._types)) for raw in part.files()])

    def _decoded(self, answer: bytes) -> list[_ReadFile]:
        kept = _decode(answer)
        self.progress(len(kept))
        return [(decode_leaf(each), each) for each in kept]

    def _keep(self, encoded: Mapping[int, bytes]) -> None:
        """In a fork: keep what was read in all processes."""
        self._put((self._parts[at], _decode(each)) for at, each in encoded.items())

    def _put(self, parts: Iterable[tuple[_Part, list[bytes]]]) -> None:
        self._cache.put(
            {
                self._keys[path]: kept
                for part, found in parts
                for path, kept in zip(part.paths, found, strict=True)
            }
        )

    def _read_parts(self) -> Iterator[tuple[_Part, list[_ReadFile]]]:
        return zip(self._parts, self._found, strict=True)


def _encoded(found: list[_ReadFile]) -> bytes:
    return _encode([kept for _, kept in found])
