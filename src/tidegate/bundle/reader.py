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
from tidegate.bundle.file_reader import FileReader, Progress
from tidegate.bundle.finding import BundleFinding, in_order
from tidegate.bundle.leaf import Leaf, decode_leaf
from tidegate.bundle.links import link_faults
from tidegate.bundle.places import Places
from tidegate.bundle.section import Bundle, Documents, Faults, Sections
from tidegate.git.tree_port import Tree
from tidegate.machine.cache import Cache

# Reads the bundle in a tree, with the sections and the cache that were chosen outside.
ReadBundle = Callable[[Tree], Bundle]
_KEY_BYTES, _SALT_BYTES = 32, 16
# Of fewer files than this so little is made that the collector may go through it.
_MANY = 500
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
    salt = salt_of(sections)[:_SALT_BYTES]
    keys = {path: salt + bytes.fromhex(identity) for path, identity in files.items()}
    with _Uncollected(len(files)):
        bundle = _read(tree, keys, cache, sections, progress, cores)
    cache.put({key: _encode(bundle)})
    return bundle


def _read(
    tree: Tree,
    keys: Mapping[str, bytes],
    cache: Cache,
    sections: Sections,
    progress: Progress | None,
    cores: int | None,
) -> Bundle:
    """All that is made on the way is let go before garbage is looked for again."""
    types = catalogue(sections)
    with FileReader(types, cache, keys, progress, cores) as reader:
        leaves = _leaves(tree, keys, cache, reader)
        places = Places(lambda path: next(iter(tree.read((path,))))[1])
        bundle = _joined(leaves, places, types, sections)
        reader.finish()
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
    tree: Tree, keys: Mapping[str, bytes], cache: Cache, reader: FileReader
) -> dict[str, Leaf]:
    known = cache.get(set(keys.values()))
    found: dict[str, Leaf] = {}
    for path, key in keys.items():
        if key in known:
            with suppress(msgspec.MsgspecError):
                found[path] = decode_leaf(known[key])
    reader.progress(len(found))
    found.update(reader.read(tree.read([path for path in keys if path not in found])))
    return {path: found[path] for path in keys}


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

    def __init__(self, files: int) -> None:
        self._many = files >= _MANY

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if not self._was_on:
            return
        # To count what is frozen takes as long as there is much of it.
        if self._many and not gc.get_freeze_count():
            # All that was made is old at once; else the collector would go through it right now.
            gc.freeze()
            gc.unfreeze()
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
