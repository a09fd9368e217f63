"""Reads a bundle: every file once, and never again while it stays the same.

What a file says is kept under its identity, and the whole under the identities of all files and
their paths. Both are salted with the sections and with the text of the programs that work it out,
so that a newer Tidegate uses nothing that an older one kept. Many new files are read in several
processes, with the same result.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

import tidegate
from tidegate.bundle.catalogue import Catalogue, catalogue
from tidegate.bundle.finding import BundleFinding, in_order
from tidegate.bundle.leaf import Leaf, decode_leaf, encode_leaf, read_leaf
from tidegate.bundle.links import link_faults
from tidegate.bundle.places import Places
from tidegate.bundle.section import Bundle, Documents, Faults, Sections
from tidegate.git.tree_port import Tree
from tidegate.machine.cache import Cache
from tidegate.machine.processes import in_processes, processes

# Called with the number of files that were read since the last call.
Progress = Callable[[int], None]
# Reads the bundle in a tree, with the sections and the cache that were chosen outside.
ReadBundle = Callable[[Tree], Bundle]
_KEY_BYTES, _SALT_BYTES = 32, 16
# How many bytes of new files are in memory at once.
BATCH_BYTES = 64 << 20
# A process is worth its start for so many bytes: some 600 files, which take 40 ms.
PART_BYTES_MIN = 1 << 20
_ROOT = Path(tidegate.__file__).parent
# What takes part in reading every bundle; sections add their own.
_PROGRAMS = tuple(
    _ROOT / name for name in ("bundle", "documents", "edit/tree.py", "gates/scope.py", "model")
)
_encode = msgspec.msgpack.Encoder().encode


class _Kept(msgspec.Struct):
    """A bundle in the cache."""

    findings: tuple[BundleFinding, ...]
    kinds: dict[str, int]
    files: int
    parts: dict[str, msgspec.Raw]


_decode = msgspec.msgpack.Decoder(_Kept).decode


def read_bundle(
    tree: Tree,
    cache: Cache,
    sections: Sections,
    progress: Progress | None = None,
    cores: int | None = None,
) -> Bundle:
    """The bundle in a tree; in so many processes at most, None: as many as there is use for."""
    files = tree.files()
    key = _key(sections, (part for item in files.items() for part in item))
    known = cache.get((key,)).get(key)
    if known is not None:
        with suppress(msgspec.MsgspecError, KeyError):
            return _decoded(known, sections)
    types = catalogue(sections)
    with _Uncollected():
        salt = salt_of(sections)[:_SALT_BYTES]
        files_read = _FileReader(types, progress or (lambda _: None), cores)
        leaves = _leaves(tree, files, cache, salt, files_read)
        places = Places(lambda path: next(iter(tree.read((path,))))[1])
        bundle = _joined(leaves, places, types, sections)
    cache.put({key: _encode(bundle)})
    return bundle


def _decoded(known: bytes, sections: Sections) -> Bundle:
    kept = _decode(known)
    return Bundle(
        findings=kept.findings,
        kinds=kept.kinds,
        files=kept.files,
        parts={
            each.name: msgspec.msgpack.decode(kept.parts[each.name], type=each.value)
            for each in sections
        },
    )


def _leaves(
    tree: Tree,
    files: Mapping[str, str],
    cache: Cache,
    salt: bytes,
    reader: "_FileReader",
) -> dict[str, Leaf]:
    keys = {path: salt + bytes.fromhex(identity) for path, identity in files.items()}
    known = cache.get(set(keys.values()))
    found: dict[str, Leaf] = {}
    for path, key in keys.items():
        if key in known:
            with suppress(msgspec.MsgspecError):
                found[path] = decode_leaf(known[key])
    reader.progress(len(found))
    fresh: dict[bytes, bytes] = {}
    missing = [path for path in files if path not in found]
    for batch in _batches(tree.read(missing)):
        for (path, _), (leaf, kept) in zip(batch, reader.read(batch), strict=True):
            found[path], fresh[keys[path]] = leaf, kept
    if fresh:
        cache.put(fresh)
    return {path: found[path] for path in files}


_File = tuple[str, bytes]
# A file as it is used, and as it is kept.
_ReadFile = tuple[Leaf, bytes]


def _batches(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Files, as many at a time as may be in memory."""
    batch: list[_File] = []
    weight = 0
    for file in files:
        batch.append(file)
        weight += len(file[1])
        if weight >= BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


class _FileReader:
    """Reads files, in several processes where there are many."""

    def __init__(self, types: Catalogue, progress: Progress, cores: int | None) -> None:
        self._types = types
        self.progress = progress
        self._cores = cores

    def read(self, files: list[_File]) -> list[_ReadFile]:
        """What each file says."""
        weight = sum(len(raw) for _, raw in files)
        cores = processes() if self._cores is None else self._cores
        count = max(1, min(cores, weight // PART_BYTES_MIN))
        # Dealt out one by one: neighbours are alike, and so all parts take the same time.
        parts = [files[first::count] for first in range(count)]
        found: list[Any] = [None] * len(files)
        done = in_processes(parts, self._read, self._elsewhere, self._decoded)
        for first, part in enumerate(done):
            found[first::count] = part
        return found

    def _read(self, files: list[_File]) -> list[_ReadFile]:
        found: list[_ReadFile] = []
        for _, raw in files:
            leaf = read_leaf(raw, self._types)
            found.append((leaf, encode_leaf(leaf)))
            self.progress(1)
        return found

    def _elsewhere(self, files: list[_File]) -> bytes:
        return _encode([encode_leaf(read_leaf(raw, self._types)) for _, raw in files])

    def _decoded(self, answer: bytes) -> list[_ReadFile]:
        kept = _decode_part(answer)
        self.progress(len(kept))
        return [(decode_leaf(each), each) for each in kept]


_decode_part = msgspec.msgpack.Decoder(list[bytes]).decode


def _joined(
    leaves: Mapping[str, Leaf], places: Places, types: Catalogue, sections: Sections
) -> Bundle:
    """All files together: each section turns documents into its own value."""
    findings: list[BundleFinding] = [
        msgspec.structs.replace(each, file=path)
        for path, leaf in leaves.items()
        for each in leaf.findings
    ]
    faults: Faults = list(link_faults(leaves, places, types))
    documents = Documents(leaves, types.types)
    values: dict[str, Any] = {each.name: each.read(documents, faults) for each in sections}
    findings += (places.found(place, fault) for place, fault in faults)
    found = in_order(findings)
    return Bundle(
        findings=found,
        kinds=dict(sorted(Counter(d.kind for leaf in leaves.values() for d in leaf.docs).items())),
        files=len(leaves),
        parts={each.name: each.finish(values[each.name], documents, found) for each in sections},
    )


class _Uncollected:
    """Garbage collection is off while many objects are made that stay."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()


def _key(sections: Sections, parts: Iterable[str]) -> bytes:
    text = "\0".join(parts).encode(errors="surrogateescape")
    return blake2b(text, key=salt_of(sections), digest_size=_KEY_BYTES).digest()


@lru_cache(maxsize=4)
def salt_of(sections: Sections) -> bytes:
    """A value that changes whenever what is kept would be worked out differently."""
    digest = blake2b(digest_size=_KEY_BYTES)
    for section in sections:
        digest.update(section.name.encode() + b"\0")
    for path in programs(sections):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def programs(sections: Sections) -> Iterator[Path]:
    """Every file that takes part in reading a bundle."""
    for place in dict.fromkeys((*_PROGRAMS, *(p for each in sections for p in each.programs))):
        if place.is_file():
            yield place
        else:
            yield from sorted(p for p in place.rglob("*.*") if p.suffix in (".py", ".json"))
