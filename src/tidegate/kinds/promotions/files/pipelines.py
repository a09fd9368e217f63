"""The pipelines that a bundle declares."""

from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.files.declared import documents_of
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.wire.pipeline_doc import PIPELINE_SCHEMA, read_pipeline
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, shown


def pipelines(files: Files) -> tuple[Pipeline, ...]:
    """Every pipeline of a bundle, by name; none: it declares none. UserError if one is wrong."""
    found: dict[str, Pipeline] = {}
    for document in documents_of(files, PIPELINE_SCHEMA):
        problems = Problems()
        one = read_pipeline(document.data, problems, document.where("").partition(":")[0])
        if one.name in found:
            what = f"another pipeline {shown(one.name)} is in {found[one.name].where}"
            problems.add("name", what, "give it another name")
        if problems.errors:
            raise UserError(document.located(problems.errors))
        found[one.name] = one
    return tuple(found[name] for name in sorted(found))
