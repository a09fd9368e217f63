"""The ways to split an integration by an inventory: each is a row of data.

A new inventory is a new row: what the strategy is called, where its items are, which option of the
integration takes one of them, and which fields make its key.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.model import ShardKey

Item = Mapping[str, Any]
STATIC = "static"


class KeyStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """One way to split by the items of an inventory."""

    inventory: str  # where its items are listed
    noun: str
    option: str  # what an integration must take to be split so
    key: Callable[[Item], str] = lambda item: str(item["name"])
    name: Callable[[Item], str] = lambda item: str(item["name"])
    # What the option is given; None: the key.
    argument: Callable[[Item], str] | None = None


STRATEGIES: dict[str, KeyStrategy] = {
    "per-aws-account": KeyStrategy(
        inventory="aws_accounts", noun="AWS account", option="--account-name"
    ),
    "per-openshift-cluster": KeyStrategy(
        inventory="clusters", noun="cluster", option="--cluster-name"
    ),
    "per-ocm-organization": KeyStrategy(
        inventory="ocm_organizations",
        noun="OpenShift Cluster Manager organisation",
        option="--org-id",
        key=lambda item: str(item["orgId"]),
    ),
    "per-cloudflare-zone": KeyStrategy(
        inventory="cloudflare_zones",
        noun="Cloudflare zone",
        option="--zone-name",
        key=lambda item: f"{item['account']['name']}-{item['identifier']}",
        name=lambda item: str(item["identifier"]),
        argument=lambda item: str(item["identifier"]),
    ),
}
# Names a strategy had before.
ALIASES = {"per-cloudflare-dns-zone": "per-cloudflare-zone"}


def key_of(strategy: KeyStrategy, item: Item) -> ShardKey:
    """One item of an inventory as a strategy sees it; KeyError names the field it lacks."""
    key = strategy.key(item)
    disable = item.get("disable") or {}
    return ShardKey(
        name=strategy.name(item),
        key=key,
        uid=str(item.get("uid") or ""),
        suffix=f"-{key.lower()}",
        argument=strategy.argument(item) if strategy.argument is not None else key,
        disabled_for=frozenset(disable.get("integrations") or ()),
        labels=dict(item.get("labels") or {}),
    )
