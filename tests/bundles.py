"""Small bundles for tests: files by path, in memory, read as any bundle is."""

from collections.abc import Iterable, Iterator, Mapping

from tidegate.bundle.finding import BundleFinding
from tidegate.bundle.section import Bundle
from tidegate.git.tree_port import Tree, identity_of, is_read
from tidegate.machine.file_cache import NoCache
from tidegate.wiring.bundles import read_bundle

PRODUCTION = "/services/app-interface/namespaces/app-interface-production-int.yml"
TESTING = "/clusters/appint-ex-01/namespaces/testing.yml"

# What runs in production where no image is written.
DEFAULT_TAG = "parameters: {IMAGE_TAG: f929a38}\n"
INVENTORY = {
    "products/environments/production.yml": """
$schema: /app-sre/environment-1.yml
name: production
servicePhase: prod
parameters: {IMAGE_TAG: f929a38}
""",
    PRODUCTION[1:]: """
$schema: /openshift/namespace-1.yml
name: app-interface-production-int
cluster: {$ref: /clusters/appsrep05ue1/cluster.yml}
environment: {$ref: /products/environments/production.yml}
""",
    TESTING[1:]: """
$schema: /openshift/namespace-1.yml
name: testing
cluster: {$ref: /clusters/appsrep05ue1/cluster.yml}
environment: {$ref: /products/environments/production.yml}
""",
    **{
        f"clusters/{name}/cluster.yml": f"$schema: /openshift/cluster-1.yml\nname: {name}\n"
        for name in ("appsrep05ue1", "app-sre-stage-01", "tiny")
    },
    **{
        f"aws/{name}/account.yml": f"$schema: /aws/account-1.yml\nname: {name}\n"
        for name in ("app-int-example-01", "ter-int-dev", "app-sre")
    },
    "aws/legacy/account.yml": """
$schema: /aws/account-1.yml
name: legacy
disable: {integrations: [terraform-resources]}
""",
    "ocm/production.yml": """
$schema: /openshift/openshift-cluster-manager-1.yml
name: ocm-production
orgId: 1AbCdEf
""",
    "cloudflare/zone.yml": """
$schema: /cloudflare/dns-zone-1.yml
identifier: example-com
account: {name: main}
""",
}


class MemoryTree:
    """A tree of files that are on no disk."""

    prefix = ""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._files = {
            path: text.encode() if isinstance(text, str) else text for path, text in files.items()
        }

    def files(self) -> Mapping[str, str]:
        kept = sorted(path for path in self._files if is_read(path))
        return {path: identity_of(self._files[path]) for path in kept}

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            yield path, self._files[path]


def read_uncached(tree: Tree) -> Bundle:
    """The bundle in a tree; nothing is kept."""
    return read_bundle(tree, NoCache())


def bundle_of(files: Mapping[str, str | bytes]) -> Bundle:
    """The bundle that some files are."""
    return read_bundle(MemoryTree(files), NoCache())


def with_integration(text: str) -> Bundle:
    """An integration among the usual things it may refer to."""
    return bundle_of({**INVENTORY, "integrations/it.yml": text})


def integration(managed: str, name: str = "terraform-resources") -> str:
    """An integration with the given entries of `managed`."""
    return f"$schema: /app-sre/integration-1.yml\nname: {name}\nmanaged:\n{managed}"


def said(findings: Iterable[BundleFinding]) -> list[str]:
    """Findings as short lines."""
    return [f"{each.line}: {each.path}: {each.message}; {each.remedy}" for each in findings]
