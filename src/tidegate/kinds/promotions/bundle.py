"""What promotions read of a bundle: `Promotion` documents, checked as they are when used."""

from pathlib import Path

import msgspec

from tidegate.bundle.finding import faults_of
from tidegate.bundle.section import BundleSection, Documents, DocumentType, Faults
from tidegate.kinds.promotions.wire.promotion_doc import SCHEMA
from tidegate.model.problem import Problems, shown

_ROOT = Path(__file__).parent


class DeclaredPromotions(msgspec.Struct, frozen=True, kw_only=True):
    """The promotions that a bundle declares."""

    names: tuple[str, ...] = ()


def _read(documents: Documents, faults: Faults) -> DeclaredPromotions:
    """The promotions of a bundle; two of one name are a fault."""
    found: dict[str, str] = {}
    for place, doc in documents.of("promotion"):
        if doc.data is None:
            continue
        # Imported late: most bundles declare none.
        from tidegate.kinds.promotions.files.declared import read_declared

        problems = Problems()
        name = read_declared(doc.data, problems).name
        if name in found:
            what = f"another promotion {shown(name)} is in {found[name]}"
            problems.add("name", what, "give it another name")
        found.setdefault(name, place.file)
        faults += ((place, fault) for fault in faults_of(problems, (), "rollout"))
    return DeclaredPromotions(names=tuple(sorted(found)))


PROMOTIONS_SECTION = BundleSection(
    name="promotions",
    types=(DocumentType(name="promotion", noun="a promotion", schemas=(SCHEMA,)),),
    schemas=_ROOT / "schemas",
    value=DeclaredPromotions,
    read=_read,
    programs=(
        *(_ROOT / name for name in ("bundle.py", "core", "files", "schemas", "wire")),
        _ROOT.parents[1] / "edit",
    ),
)
