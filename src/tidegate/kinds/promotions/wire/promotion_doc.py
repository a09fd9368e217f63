"""A `Promotion` document: an artifact, its environments in order, and where each names its version.

    $schema: /tidegate/promotion-1.yml
    name: reconcile
    artifact:
      repository: https://git.example.com/app-sre/qontract-reconcile
      image: quay.io/app-sre/qontract-reconcile
    environments:
    - {name: stage, follows: master}
    - name: production
      places:
      - {saas: saas-manager, environment: "*-production"}
      - {file: .env, line: "export RECONCILE_IMAGE_TAG="}
      - {file: "**/shared-resources/*.yml", key: qontract_reconcile_image_tag}

An environment comes after the one above it, unless `after` names others.
"""

from collections.abc import Iterable

from tidegate.documents.reader import Reader
from tidegate.kinds.promotions.core.model import (
    Artifact,
    CommitForm,
    FilePlace,
    Place,
    Promotion,
    PromotionEnvironment,
    SaasPlace,
    Schemas,
)
from tidegate.model.problem import Problems, nearest_or_all, shown

SCHEMA = "/tidegate/promotion-1.yml"
_WAYS = ("at", "key", "line")


def read_promotion(data: object, problems: Problems, where: str = "") -> Promotion:
    """The promotion a document declares; its problems are collected on the way."""
    reader = Reader(data, "", problems)
    for name in ("$schema", "labels", "description"):
        reader.raw(name)
    found = Promotion(
        name=_needed(reader, "name", "name it like what it moves"),
        artifact=_artifact(reader.child("artifact")),
        environments=_environments(reader),
        schemas=_schemas(reader.child("schemas")) if reader.has("schemas") else None,
        where=where,
    )
    reader.close()
    return found


def _artifact(reader: Reader) -> Artifact:
    found = Artifact(
        repository=reader.text("repository") or "",
        branch=reader.text("branch") or "",
        image=reader.text("image") or "",
    )
    reader.close()
    return found


def _schemas(reader: Reader) -> Schemas:
    needed = _place(reader.child("needed")) if reader.has("needed") else None
    if isinstance(needed, SaasPlace):
        reader.problems.add(
            reader.at("needed"), "not a place in a file", "write file, and at or line"
        )
        needed = None
    found = Schemas(
        repository=_needed(reader, "repository", "name the repository of the schemas"),
        branch=reader.text("branch") or "",
        places=tuple(map(_place, reader.children("places"))),
        needed=needed,
    )
    if not found.places:
        reader.problems.add(reader.at("places"), "missing", "name where their version is written")
    reader.close()
    return found


def _environments(reader: Reader) -> tuple[PromotionEnvironment, ...]:
    found: list[PromotionEnvironment] = []
    for each in reader.children("environments"):
        found.append(_environment(each, found))
        each.close()
    if not found:
        reader.problems.add(reader.at("environments"), "missing", "name at least one")
    return tuple(found)


def _environment(reader: Reader, before: list[PromotionEnvironment]) -> PromotionEnvironment:
    name = _needed(reader, "name", "name the environment")
    if name in {each.name for each in before}:
        reader.problems.add(reader.at("name"), f"{shown(name)} is twice", "choose another name")
    follows = reader.text("follows") or ""
    places = tuple(map(_place, reader.children("places")))
    if bool(follows) == bool(places):
        both = "both places and a branch it follows" if follows else "no places"
        reader.problems.add(reader.path, both, "write places, or follows: BRANCH")
    after = tuple(each.name for each in before[-1:])
    if reader.has("after"):
        after = tuple(reader.texts("after"))
        _check_after(reader, after, [each.name for each in before])
    return PromotionEnvironment(name=name, places=places, follows=follows, after=after)


def _check_after(reader: Reader, after: Iterable[str], known: list[str]) -> None:
    for name in after:
        if name not in known:
            remedy = nearest_or_all(name, known, "none above it")
            reader.problems.add(reader.at("after"), f"no environment {shown(name)} above", remedy)


def _place(reader: Reader) -> Place:
    found = _saas(reader) if reader.has("saas") else _file(reader)
    reader.close()
    return found


def _saas(reader: Reader) -> SaasPlace:
    return SaasPlace(
        saas=reader.text("saas") or "",
        environment=reader.text("environment") or "",
        target=reader.text("target") or "",
        parameter=reader.text("parameter") or "",
        form=reader.choice("form", CommitForm, CommitForm.SAME),
    )


def _file(reader: Reader) -> FilePlace:
    ways = {way: reader.text(way) or "" for way in _WAYS}
    if sum(map(bool, ways.values())) != 1:
        given = [way for way, value in ways.items() if value]
        what = f"{' and '.join(given)} are there" if given else "none of them is there"
        reader.problems.add(reader.path, what, f"write exactly one of {', '.join(_WAYS)}")
    return FilePlace(
        file=_needed(reader, "file", "name a file, or a pattern: data/**/*.yml"),
        without=tuple(reader.texts("without")),
        form=reader.choice("form", CommitForm, CommitForm.SAME),
        **ways,
    )


def _needed(reader: Reader, name: str, remedy: str) -> str:
    value = reader.text(name)
    if not value:
        reader.problems.add(reader.at(name), "missing", remedy)
    return value or ""
