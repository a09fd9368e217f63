"""The promotions of a bundle: those it declares, or the built-in one of an app-interface."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files as resources

from tidegate.documents.strict_yaml import YamlDocument, read_yaml
from tidegate.edit.place import parse_path
from tidegate.kinds.promotions.core.model import FilePlace, Promotion, SaasPlace
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.patterns import literal
from tidegate.kinds.promotions.wire.promotion_doc import SCHEMA, read_promotion
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest_or_all, shown

READY_MADE = "app-interface.yml"


def promotions(files: Files) -> tuple[Promotion, ...]:
    """Every promotion a bundle declares, by name; the built-in one if it declares none."""
    found: dict[str, Promotion] = {}
    files.expect((SCHEMA, *looked_for(ready_made())))
    for document in documents_of(files, SCHEMA):
        one = _read(document)
        if one.name in found:
            what = f"another promotion {shown(one.name)} is in {found[one.name].where}"
            raise UserError((Problem(document.name, what, "give it another name"),))
        found[one.name] = one
    return tuple(found[name] for name in sorted(found)) or (ready_made(),)


def documents_of(files: Files, schema: str) -> Iterator[YamlDocument]:
    """The documents of a schema, in the order of their files; UserError if one is not readable."""
    for path in files.holding(schema):
        original = files.read(path)
        if original is None or not path.endswith((".yml", ".yaml")):
            continue
        document = read_yaml(path, original.text)
        if isinstance(document.data, dict) and document.data.get("$schema") == schema:
            yield document


def looked_for(promotion: Promotion) -> Iterator[str]:
    """The texts by which the places of a promotion are found."""
    for environment in promotion.environments:
        for place in environment.places:
            if isinstance(place, SaasPlace):
                yield literal(place.saas)
            elif place.key:
                yield place.key


@cache
def ready_made() -> Promotion:
    """The places that the instructions of an app-interface list."""
    text = (resources(__package__) / READY_MADE).read_text(encoding="utf-8")
    return _read(read_yaml(READY_MADE, text), declared=False)


def named(
    every: tuple[Promotion, ...], name: str | None, environments: Iterable[str] = ()
) -> Promotion:
    """The promotion with a name, or with these environments; UserError if none or several match.

    The names of environments are enough where only one of several has them.
    """
    if name is None and len(every) == 1:
        return every[0]
    names = [each.name for each in every]
    if name is None:
        having = [one for one in every if all(map(one.environment, environments))]
        if len(having) == 1:
            return having[0]
        remedy = f"name one with --promotion: {', '.join(names)}"
        raise UserError((Problem("", "several promotions are declared", remedy),))
    for each in every:
        if each.name == name:
            return each
    raise UserError((Problem("", f"no promotion {shown(name)}", nearest_or_all(name, names)),))


def read_declared(data: object, problems: Problems, where: str = "") -> Promotion:
    """A document with every path in it checked, so that a wrong one is found before promoting."""
    promotion = read_promotion(data, problems, where)
    for i, environment in enumerate(promotion.environments):
        for j, place in enumerate(environment.places):
            if isinstance(place, FilePlace) and place.at:
                _check_path(place.at, f"environments[{i}].places[{j}].at", problems)
    return promotion


def _check_path(path: str, where: str, problems: Problems) -> None:
    try:
        parse_path(path)
    except UserError as error:
        for each in error.problems:
            problems.add(where, each.message, each.remedy)


def _read(document: YamlDocument, *, declared: bool = True) -> Promotion:
    problems = Problems()
    line = document.where("").partition(":")[0]
    promotion = read_declared(document.data, problems, line if declared else "")
    if problems.errors:
        raise UserError(document.located(problems.errors))
    return promotion
