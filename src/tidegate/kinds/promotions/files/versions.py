"""Finds where versions are written in the files of a repository, and writes others there.

A *spot* is one value at one place. A value that is not a commit, `master` for example, is a branch
that is followed: it is found and never changed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.edit.edit import edit, found, located
from tidegate.edit.edits import Edited, FoundValue, Original, Replace
from tidegate.edit.place import KeyPlace, LinePlace, Place, YamlPlace
from tidegate.git.remote_url import repository_key, same_repository
from tidegate.kinds.promotions.core.model import (
    COMMIT,
    FilePlace,
    Promotion,
    SaasPlace,
    WrittenVersion,
)
from tidegate.kinds.promotions.core.model import Place as Declared
from tidegate.kinds.promotions.files.declared import looked_for
from tidegate.kinds.promotions.files.files import Files, UnreadFile
from tidegate.kinds.promotions.files.saas import SaasTarget, saas_targets
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

_YAML = (".yml", ".yaml")
# A pattern with this part searches; any other names files that should have a version.
_EVERYWHERE = "**"


class Spot(msgspec.Struct, frozen=True):
    """One value, and how to reach it."""

    value: WrittenVersion
    place: Place


# What a place has, and the files that should have it and do not say it.
FoundSpots = tuple[list[Spot], list[UnreadFile]]


class WrittenVersions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the versions of a promotion are written now."""

    spots: tuple[Spot, ...]
    # Places that are declared and were not found, by environment.
    missing: dict[str, tuple[str, ...]]
    # Files that should have values and do not say them, by environment: what is written there is
    # not known, so that nothing of the environment moves.
    unread: dict[str, tuple[UnreadFile, ...]] = {}
    # The repositories that saas files name, in order.
    repositories: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[WrittenVersion, ...]:
        """The values alone."""
        return tuple(spot.value for spot in self.spots)


def find_versions(files: Files, promotion: Promotion) -> WrittenVersions:
    """Every value at every place of a promotion.

    Saas files deploy several repositories. Where the promotion does not name one, it is the one
    with the same name, or the only one.
    """
    files.expect(looked_for(promotion))
    files.ahead(_named(files, promotion))
    meant = promotion.artifact.repository or _deployed(files, promotion)
    finder = _Finder(files, meant)
    for environment in promotion.environments:
        finder.look(environment.name, environment.places)
    return finder.result()


def _named(files: Files, promotion: Promotion) -> Iterator[str]:
    """The files that places name, and no text in them."""
    for environment in promotion.environments:
        for place in environment.places:
            if isinstance(place, FilePlace) and not place.key:
                yield from files.matching(place.file, place.without)


def _deployed(files: Files, promotion: Promotion) -> str:
    urls = {
        repository_key(target.url): target.url
        for environment in promotion.environments
        for place in environment.places
        if isinstance(place, SaasPlace) and not place.parameter
        for target in saas_targets(files, place).targets
    }
    called = [url for bare, url in urls.items() if bare.rpartition("/")[2] == promotion.name]
    if len(urls) <= 1 or len(called) == 1:
        return next(iter(called or urls.values()), "")
    what = f"several repositories are deployed: {', '.join(urls.values())}"
    remedy = "declare a Promotion document with artifact.repository"
    raise UserError((Problem("", what, remedy),))


def versions_at(files: Files, name: str, places: Iterable[Declared]) -> WrittenVersions:
    """Every value at some places, as those of one environment."""
    finder = _Finder(files, "")
    finder.look(name, places)
    return finder.result()


class _Finder:
    def __init__(self, files: Files, repository: str) -> None:
        self._files, self._repository = files, repository
        self._spots: dict[tuple[str, str, str], Spot] = {}
        self._missing: dict[str, tuple[str, ...]] = {}
        self._unread: dict[str, tuple[UnreadFile, ...]] = {}
        self._urls: dict[str, None] = {}

    def look(self, environment: str, places: Iterable[Declared]) -> None:
        """Find the values at the places of an environment."""
        for place in places:
            here, unread = (
                self._saas(environment, place)
                if isinstance(place, SaasPlace)
                else self._file(environment, place)
            )
            if unread:
                self._unread[environment] = (*self._unread.get(environment, ()), *unread)
            if unread or not here:
                why = "; ".join(dict.fromkeys(each.why for each in unread))
                text = f"{place} ({why})" if why else str(place)
                self._missing[environment] = (*self._missing.get(environment, ()), text)
            for spot in here:
                # Two places may match the same value.
                key = environment, spot.value.file, f"{spot.place!r}:{spot.value.line}"
                self._spots.setdefault(key, spot)

    def result(self) -> WrittenVersions:
        """Everything that was found."""
        every = tuple(self._spots.values())
        return WrittenVersions(
            spots=every,
            missing=self._missing,
            unread=self._unread,
            repositories=tuple(self._urls),
        )

    def _saas(self, environment: str, place: SaasPlace) -> FoundSpots:
        found = saas_targets(self._files, place)
        here: list[Spot] = []
        unread = list(found.unread)
        for target in found.targets:
            if self._repository and not same_repository(target.url, self._repository):
                continue
            if target.url and not place.parameter:
                self._urls.setdefault(target.url)
            spots = tuple(self._at_target(environment, place, target))
            here += spots
            if not (spots or place.parameter):
                why = f"{target.file}: target {target.note or target.path} has no ref"
                unread.append(UnreadFile(target.file, why, absent=True))
        if here or unread or not found.files:
            return here, unread
        of = f" of {self._repository}" if self._repository else ""
        return [], [UnreadFile(p, f"{p}: no target{of} is meant", absent=True) for p in found.files]

    def _at_target(self, environment: str, place: SaasPlace, target: SaasTarget) -> Iterator[Spot]:
        original = self._files.read(target.file)
        if original is None:
            return
        exact = target.place(place.parameter)
        try:
            here = found(original, exact)
        except UserError:
            # A target without that parameter does not match.
            return
        for each in here:
            yield Spot(_written(environment, target.file, each, place, target.note), exact)

    def _file(self, environment: str, place: FilePlace) -> FoundSpots:
        paths = self._files.matching(place.file, place.without)
        if place.key:
            holding = frozenset(self._files.holding(place.key))
            held = tuple(p for p in paths if p in holding and p.endswith(_YAML))
        else:
            held = paths
        here: list[Spot] = []
        unread: list[UnreadFile] = []
        for path in held:
            why = "" if place.line else self._files.problem(path)
            try:
                original = self._files.read(path) if not why else None
                if original is not None:
                    here += _in_file(environment, place, original, alone=len(held) == 1)
            except UserError as error:
                why = str(error)
            if why and (not place.key or _sets(self._files.text(path), place.key)):
                unread.append(UnreadFile(path, why))
        if not (here or unread) and _EVERYWHERE not in place.file:
            unread = [UnreadFile(p, f"{p}: it has none", absent=True) for p in paths]
        return here, unread


def _sets(text: str, key: str) -> bool:
    """Whether a text that is no YAML gives a key a value; a template may only use it."""
    return re.search(rf"(?<![\w-]){re.escape(key)}[\"']?[ \t]*[:=]", text) is not None


def _in_file(
    environment: str, place: FilePlace, original: Original, *, alone: bool
) -> Iterator[Spot]:
    if place.line:
        prefix = LinePlace(place.line)
        for each in found(original, prefix):
            yield Spot(_written(environment, original.name, each, place), prefix)
        return
    wanted = KeyPlace(place.key) if place.key else YamlPlace(place.at)
    try:
        here = located(original, wanted)
    except UserError:
        # A path that does not exist in one of several files does not match there.
        if alone and place.at:
            raise
        return
    every = all(COMMIT.fullmatch(each.value) for _, each in here)
    every = every and len({len(each.value) for _, each in here}) == 1
    for exact, each in here:
        # Aliases under one key change together; they are one place where all change alike.
        named = wanted if every and isinstance(wanted, KeyPlace) else exact
        yield Spot(_written(environment, original.name, each, place), named)


def _written(
    environment: str, file: str, each: FoundValue, place: Declared, note: str = ""
) -> WrittenVersion:
    return WrittenVersion(
        environment=environment,
        file=file,
        line=each.line,
        value=each.value,
        form=place.form,
        note=note,
    )


def rewritten(
    files: Files, spots: Iterable[Spot], versions: Mapping[str, str]
) -> dict[str, Edited]:
    """The files in which environments get other versions; files that need no change are left out.

    All or nothing: one value that cannot be changed is a UserError.
    """
    edits: dict[str, dict[str, Replace]] = {}
    for spot in spots:
        value = spot.value
        version = versions.get(value.environment)
        if version is None or not value.is_commit or value.has(version):
            continue
        new = Replace(spot.place, value.text_for(version))
        kept = edits.setdefault(value.file, {}).setdefault(repr(spot.place), new)
        if kept != new:
            what = f"two versions are wanted at {spot.place}"
            remedy = "name the place in one environment only, or promote both at once"
            raise UserError((Problem(f"{value.file}:{value.line}", what, remedy),))
    made: dict[str, Edited] = {}
    for path, wanted in edits.items():
        original = files.read(path)
        assert original is not None
        made[path] = edit(original, list(wanted.values()))
    return made
