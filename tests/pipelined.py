"""A bundle with a pipeline: stage publishes what production subscribes to, at one repository.

stage (ref main) ── payments-stage ──▶ production (a commit), two namespaces
stage-eu (ref main) ─┘
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.git_repos import clone, remote
from tidegate.git.client.repository import open_repository
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.files.channels import read_channels
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.pipelines import pipelines
from tidegate.kinds.promotions.files.promoted_targets import PromotedTargets
from tidegate.model.errors import OutsideError

URL = "https://git.example.com/payments/api"
OLD, NEW, NEWER = "a" * 40, "b" * 40, "c" * 40
SAAS = "data/services/payments/saas.yml"
TARGET = "data/services/payments/production-eu.yml"
APP = "data/services/payments/app.yml"
PIPELINE = "data/pipelines/payments.yml"
SLO = "data/services/payments/slo.yml"
PROD = "saas-payments:api:production:prod-1:payments-production"
PROD_EU = "saas-payments:api:production-eu:prod-1:payments-production-eu"
STAGE = "saas-payments:api:default:stage-1:payments-stage"
STAGE_EU = "saas-payments:api:stage-eu:stage-1:payments-stage-eu"


def pipeline_text(more: str = "") -> str:
    """The document of the pipeline."""
    return f"$schema: /tidegate/pipeline-1.yml\nlabels: {{}}\nname: payments\n{more}"


def saas_text(ref: str = OLD, more: str = "", published: str = "payments-stage") -> str:
    """The saas file; `more` is added to the promotion of production."""
    return f"""---
$schema: /app-sre/saas-file-2.yml
labels: {{}}
name: saas-payments
description: payments
resourceTemplates:
- name: api
  url: {URL}
  path: /openshift/api.yaml
  targets:
  - namespace: {{$ref: /services/payments/stage.yml}}
    ref: main
    promotion:
      publish: [{published}]
  - name: stage-eu
    namespace: {{$ref: /services/payments/stage-eu.yml}}
    ref: main
    promotion:
      publish: [payments-stage]
  - name: production
    namespace: {{$ref: /services/payments/production.yml}}
    ref: {ref}  # moved by promotions
    promotion:
      auto: true
      subscribe: [payments-stage]
{more}
  - $ref: /services/payments/production-eu.yml
"""


def namespace_text(name: str, cluster: str, environment: str) -> str:
    """A namespace."""
    return (
        f"$schema: /openshift/namespace-1.yml\nlabels: {{}}\nname: payments-{name}\n"
        f"cluster: {{$ref: /clusters/{cluster}.yml}}\n"
        f"environment: {{$ref: /environments/{environment}.yml}}\n"
    )


def bundle_files(**changed: str) -> dict[str, str | bytes]:
    """The files of the bundle; names are paths with `.` for `/` where given."""
    return {
        PIPELINE: pipeline_text(),
        SAAS: saas_text(),
        TARGET: (
            "$schema: /app-sre/saas-file-target-1.yml\nlabels: {}\nname: production-eu\n"
            "namespace: {$ref: /services/payments/prod-eu.yml}\n"
            f"ref: {OLD}\npromotion: {{auto: true, subscribe: [payments-stage], soakDays: 2}}\n"
        ),
        APP: (
            "$schema: /app-sre/app-1.yml\nlabels: {}\nname: payments\ncodeComponents:\n"
            f"- {{name: api, url: {URL}, blockedVersions: [{NEWER}], hotfixVersions: [{NEW}]}}\n"
        ),
        SLO: (
            "$schema: /app-sre/slo-document-1.yml\nlabels: {}\nname: payments-slo\n"
            "namespaces:\n- {namespace: {$ref: /services/payments/production.yml}}\n"
            "slos:\n- name: availability\n  SLOTarget: 0.99\n  SLOParameters: {window: 28d}\n"
            '  expr: "avg_over_time(up[{{window}}])"\n'
        ),
        "data/services/payments/stage.yml": namespace_text("stage", "stage-1", "stage"),
        "data/services/payments/stage-eu.yml": namespace_text("stage-eu", "stage-1", "stage"),
        "data/services/payments/production.yml": namespace_text("production", "prod-1", "prod"),
        "data/services/payments/prod-eu.yml": namespace_text("production-eu", "prod-1", "prod"),
        **{
            f"data/environments/{name}.yml": (
                f"$schema: /app-sre/environment-1.yml\nlabels: {{}}\nname: payments-{name}\n"
                f"servicePhase: {name}\n"
            )
            for name in ("stage", "prod")
        },
        **{
            f"data/clusters/{name}.yml": (
                f"$schema: /openshift/cluster-1.yml\nlabels: {{}}\nname: {name}\n"
                f"prometheusUrl: https://prometheus.{name}.example.com\n"
            )
            for name in ("stage-1", "prod-1")
        },
        **changed,
    }


def heads(known: Mapping[str, str] | None = None) -> Callable[[str, str], str]:
    """What branches are at; any other does not answer."""
    commits = {"main": NEW} if known is None else known

    def read(url: str, branch: str) -> str:
        if url != URL or branch not in commits:
            raise OutsideError(f"{url} has no branch {branch}")
        return commits[branch]

    return read


def clone_of(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A person's clone of a bundle with these files."""
    return clone(remote(folder, files), folder / "clone")


def reading_in(
    folder: Path, files: Mapping[str, str | bytes], known: Mapping[str, str] | None = None
) -> PipelineReading:
    """What is read of the only pipeline of a bundle."""
    repository = open_repository(clone_of(folder, files))
    found = Files(repository, repository.tip())
    (one,) = pipelines(found)
    return read_channels(found, one, PromotedTargets(found), heads(known))


def declared(**fields: object) -> Pipeline:
    """The pipeline with other rules."""
    return Pipeline(name="payments", **fields)  # type: ignore[arg-type]
