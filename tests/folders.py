"""A bundle in a directory that tests edit, as people edit theirs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.git_repos import git

__all__ = ["Folder", "git"]

_PLACE = """
- namespace: {{$ref: /{cluster}/namespace.yml}}
  spec:
    imageRef: {image}
    extraArgs: "{arguments}"
    resources: {{requests: {{cpu: 0.1, memory: 1024Mi}}, limits: {{memory: 2Gi}}}}
{more}  sharding: {{{sharding}}}
"""
_RULES = """
rollout:
  type: ProgressivePerGroup
  progressivePerGroup: {maxConcurrency: 2}
"""


class Folder:
    """A bundle in a directory that a person edits."""

    def __init__(
        self, root: Path, clusters: Mapping[str, str], namespace: str = "integrations"
    ) -> None:
        self.root = root
        # With the environment of its namespace.
        self.clusters = dict(clusters)
        self.write("aws/one.yml", "$schema: /aws/account-1.yml\nname: one\n")
        self.write("aws/two.yml", "$schema: /aws/account-1.yml\nname: two\n")
        for cluster, environment in clusters.items():
            schema = "$schema: /openshift/"
            self.write(f"{cluster}/cluster.yml", f"{schema}cluster-1.yml\nname: {cluster}\n")
            self.write(
                f"{environment}.yml",
                f"$schema: /app-sre/environment-1.yml\nname: {environment}\n"
                "parameters: {IMAGE_TAG: c0ffee0}\n",
            )
            self.write(
                f"{cluster}/namespace.yml",
                f"{schema}namespace-1.yml\nname: {namespace}\n"
                f"cluster: {{$ref: /{cluster}/cluster.yml}}\n"
                f"environment: {{$ref: /{environment}.yml}}\n",
            )

    def write(self, path: str, text: str) -> None:
        """One file."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def integration(
        self,
        name: str,
        image: str = "aaaaaaa",
        *,
        sharding: str = "strategy: static, shards: 1",
        arguments: str = "",
        clusters: Iterable[str] | None = None,
        staged: bool = False,
        more: str = "",
    ) -> None:
        """One integration, on all clusters or some."""
        places = "".join(
            _PLACE.format(
                cluster=each, image=image, sharding=sharding, arguments=arguments, more=more
            )
            for each in (self.clusters if clusters is None else clusters)
        )
        text = f"$schema: /app-sre/integration-1.yml\nname: {name}\n"
        text += f"{_RULES if staged else ''}managed:{places}"
        self.write(f"integrations/{name}.yml", text)

    def drop(self, name: str) -> None:
        """One integration less."""
        (self.root / f"integrations/{name}.yml").unlink()
