"""What promotions read of a bundle: `Promotion` and `Pipeline` documents, checked as when used."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from tidegate.bundle.finding import faults_of
from tidegate.bundle.section import BundleSection, Documents, DocumentType, Faults
from tidegate.kinds.promotions.wire.pipeline_doc import PIPELINE_SCHEMA, read_pipeline
from tidegate.kinds.promotions.wire.promotion_doc import SCHEMA
from tidegate.model.problem import Problems, shown

_ROOT = Path(__file__).parent


class DeclaredPromotions(msgspec.Struct, frozen=True, kw_only=True):
    """The promotions and pipelines that a bundle declares."""

    names: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()


def _read(documents: Documents, faults: Faults) -> DeclaredPromotions:
    """The promotions and pipelines of a bundle; two of one name are a fault."""
    return DeclaredPromotions(
        names=_names(documents, faults, "promotion", _promotion_name),
        pipelines=_names(documents, faults, "pipeline", _pipeline_name),
    )


def _promotion_name(data: object, problems: Problems) -> str:
    # Imported late: most bundles declare none.
    from tidegate.kinds.promotions.files.declared import read_declared

    return read_declared(data, problems).name


def _pipeline_name(data: object, problems: Problems) -> str:
    return read_pipeline(data, problems).name


def _names(
    documents: Documents, faults: Faults, noun: str, read: Callable[[object, Problems], str]
) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for place, doc in documents.of(noun):
        if doc.data is None:
            continue
        problems = Problems()
        name = read(doc.data, problems)
        if name in found:
            what = f"another {noun} {shown(name)} is in {found[name]}"
            problems.add("name", what, "give it another name")
        found.setdefault(name, place.file)
        faults += ((place, fault) for fault in faults_of(problems, (), "rollout"))
    return tuple(sorted(found))


PROMOTIONS_SECTION = BundleSection(
    name="promotions",
    types=(
        DocumentType(name="promotion", noun="a promotion", schemas=(SCHEMA,)),
        DocumentType(name="pipeline", noun="a pipeline", schemas=(PIPELINE_SCHEMA,)),
    ),
    schemas=_ROOT / "schemas",
    value=DeclaredPromotions,
    read=_read,
    programs=(
        *(_ROOT / name for name in ("bundle.py", "core", "files", "schemas", "wire")),
        _ROOT.parents[1] / "edit",
        # The roles that a pipeline may name.
        _ROOT.parents[1] / "access" / "roles.py",
    ),
)
