"""The inventory of an app-interface: documents that several kinds read, and no kind owns."""

from pathlib import Path

from tidegate.bundle.section import DocumentType

SCHEMAS = Path(__file__).parent / "schemas"
_ITEM = ("name", "labels", "disable")
_DISABLE = {"disable.integrations": "cluster-integrations"}

INVENTORY = (
    DocumentType(
        name="namespace",
        noun="a namespace",
        schemas=("/openshift/namespace-1.yml", "/openshift/lean-namespace-1.yml"),
        kept=("name", "labels", "cluster", "environment", "delete"),
        links={"cluster": "cluster", "environment": "environment"},
    ),
    DocumentType(
        name="environment",
        noun="an environment",
        schemas=("/app-sre/environment-1.yml",),
        kept=("name", "labels", "servicePhase", "dependsOn", "parameters"),
        links={"dependsOn": "environment"},
    ),
    DocumentType(
        name="cluster",
        noun="a cluster",
        schemas=("/openshift/cluster-1.yml",),
        kept=(*_ITEM, "ocm", "spec"),
        links={"ocm": "ocm-organization", **_DISABLE},
    ),
    DocumentType(
        name="cluster-integrations",
        noun="a list of integrations",
        schemas=("/openshift/cluster-integrations-1.yml",),
        kept=("integrations",),
    ),
    DocumentType(
        name="aws-account",
        noun="an AWS account",
        schemas=("/aws/account-1.yml",),
        kept=(*_ITEM, "uid"),
        links=_DISABLE,
    ),
    DocumentType(
        name="cloudflare-zone",
        noun="a Cloudflare zone",
        schemas=("/cloudflare/dns-zone-1.yml", "/cloudflare/zone-1.yml"),
        kept=(*_ITEM, "identifier", "zone", "account"),
        links=_DISABLE,
    ),
    DocumentType(
        name="ocm-organization",
        noun="an OpenShift Cluster Manager organisation",
        schemas=("/openshift/openshift-cluster-manager-1.yml",),
        kept=(*_ITEM, "orgId"),
        links=_DISABLE,
    ),
    DocumentType(
        name="saas-file",
        noun="a saas file",
        schemas=("/app-sre/saas-file-2.yml",),
        links={
            "resourceTemplates.targets": "saas-target",
            "resourceTemplates.targets.namespace": "namespace",
        },
    ),
    DocumentType(
        name="saas-target",
        noun="a saas target",
        schemas=("/app-sre/saas-file-target-1.yml",),
        links={"namespace": "namespace"},
    ),
)
