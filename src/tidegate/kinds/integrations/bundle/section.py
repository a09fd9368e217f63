"""What integrations read of a bundle: the types of documents, their schemas, and the reader."""

from pathlib import Path

from tidegate.bundle.section import BundleSection, DocumentType
from tidegate.kinds.integrations.bundle.amounts import value_faults
from tidegate.kinds.integrations.bundle.builder import (
    DEFAULT_IMAGE,
    DeclaredIntegrations,
    read_integrations,
)
from tidegate.kinds.integrations.bundle.managers import TEMPLATE
from tidegate.kinds.integrations.core.review.notes import MARK

INTEGRATION_SCHEMA = "/app-sre/integration-1.yml"
_FOLDER = Path(__file__).parent
_KINDS = _FOLDER.parents[1]

TYPES = (
    DocumentType(
        name="integration",
        noun="an integration",
        schemas=(INTEGRATION_SCHEMA,),
        links={
            "managed.namespace": "namespace",
            "managed.rollout": "rollout",
            "rollout": "rollout",
        },
        lined=True,
        notes={"imageRef": MARK},
        check=value_faults,
    ),
    DocumentType(
        name="settings",
        noun="settings",
        schemas=("/app-interface/app-interface-settings-1.yml",),
        kept=("name", "hashLength", "rollout"),
        links={"rollout": "rollout"},
        lined=True,
    ),
    # Where a manager is deployed is pointed at.
    DocumentType(name="saas-file", lined=True, lined_with=TEMPLATE),
    DocumentType(
        name="rollout",
        noun="rules of a rollout",
        schemas=("/tidegate/rollout-1.yml",),
        lined=True,
    ),
)

INTEGRATIONS = BundleSection(
    name="integrations",
    types=TYPES,
    schemas=_FOLDER / "schemas",
    marks=(TEMPLATE,),
    rules={
        DEFAULT_IMAGE: "Shards without an image of their own, where no default image is known",
        "spelling": "Two ways of saying the same thing that do not agree",
        "sharding": "Shards that cannot be worked out",
        "rollout": "Rules by which images move that cannot be used",
        "override": "An override that changes nothing, or applies to no shard",
        "expired-pin": "An image of a shard's own whose time is over",
        "mutable-tag": "A tag in production that can become another image without a change here",
        "no-effect": "A field that has no effect beside the others",
        "long-name": "A name that is cut, with a hash at its end, to fit",
    },
    value=DeclaredIntegrations,
    read=read_integrations,
    programs=(
        *(_FOLDER.parent / name for name in ("bundle", "core", "wire")),
        *(_KINDS / "rollouts" / name for name in ("core", "wire")),
        _KINDS.parent / "registry" / "image.py",
    ),
)
