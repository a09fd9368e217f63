"""Subscribers that follow the configuration of their publishers, at one version and over many."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.channels import DAY, HOUR, NOW, decided, seen, shut, world
from tests.pipelined import NEW, OLD, SAAS, bundle_files, reading_in, saas_text
from tidegate.kinds.promotions.core.channels.configs import desired_configs
from tidegate.kinds.promotions.core.channels.history import (
    DeploymentSeen,
    PublisherHistory,
    fold_configured,
)
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    PublisherTarget,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.core.requests.wanted import wanted_promotions
from tidegate.model.time import Duration, Instant

WRITTEN = ConfigHash("c", "saas-a", "hash1")
Seen = tuple[DeploymentSeen, Instant]


def ran(
    config: str = "hash1", hours_ago: float = 50, name: str = "p", version: str = "new"
) -> Seen:
    """A deployment with its configuration, recorded at once."""
    fact = replace(seen(name, version, hours_ago), config=config)
    return fact, fact.at


def subscriber(version: str = "new", **more: object) -> SubscriberTarget:
    """One that follows configurations."""
    given: dict[str, Any] = {"follows_configs": True, "configs": (WRITTEN,)} | more
    return SubscriberTarget(name="prod", version=version, channels=("c",), **given)


def told(*facts: Seen, one: SubscriberTarget | None = None) -> ChannelWorld:
    """A channel with one publisher, or two."""
    found: dict[str, PublisherHistory] = {}
    for fact, at in facts:
        found[fact.target] = fold_configured(found.get(fact.target), fact, at)
    names = tuple(found) or ("p",)
    some = world(
        (), one or subscriber(), channels={"c": names}, versions=dict.fromkeys(names, "new")
    )
    publishers = {name: PublisherTarget(name, "new", "saas-a") for name in names}
    return replace(some, histories=found, publishers=publishers)


@pytest.mark.parametrize(
    "facts, one, expected",
    [
        # All is written: more than that does no harm.
        ([ran()], subscriber(), "Done"),
        ([ran()], subscriber(configs=(WRITTEN, ConfigHash("x", "s", "h"))), "Done"),
        # The same version with another configuration is promoted, and so is the first one.
        ([ran("hash2")], subscriber(), None),
        ([ran()], subscriber(configs=()), None),
        ([ran()], subscriber(version="old"), None),
        # One that follows none has the version, and that is all.
        ([ran("hash2")], subscriber(follows_configs=False), "Done"),
        # Not known: it waits, since the deployer would refuse a guess.
        ([ran("")], subscriber(version="old"), "ConfigUnknown"),
        ([ran(), ran("", hours_ago=1)], subscriber(), "Done"),
    ],
)
def test_a_configuration_is_promoted_like_a_version(
    facts: list[Seen], one: SubscriberTarget, expected: str | None
) -> None:
    """Only where the subscriber follows it, and once it is known."""
    decision = decided(told(*facts, one=one))
    assert next(iter(shut(decision)), None) == expected
    assert bool(decision.actions) is (expected is None)


def test_of_several_publishers_the_first_by_name_is_followed() -> None:
    """The deployer takes the configuration of any of them; which one is written does not waver."""
    facts = [ran("hash2", name="q"), ran("hash3", name="p")]
    for some in (facts, facts[::-1]):
        assert desired_configs(told(*some), subscriber()) == (
            replace(WRITTEN, target_config_hash="hash3"),
        )


def test_soak_counts_since_the_configuration_changed() -> None:
    """The store keeps the moment of the deployment; what is new counts from when it was seen."""
    (first, _), (second, _) = ran(), ran("hash2")
    facts = [(first, first.at), (second, Instant(NOW - HOUR))]
    soaking = subscriber(soak=Duration(DAY))
    assert shut(decided(told(*facts, one=soaking))) == ["PublisherSoaking"]
    assert not shut(decided(told(*facts, one=soaking), Instant(NOW + DAY)))
    plain = subscriber(version="old", soak=Duration(DAY), follows_configs=False)
    assert not shut(decided(told(*facts, one=plain)))


def test_a_late_fact_and_one_without_a_configuration_change_nothing() -> None:
    """Of another version, what is known of the configuration is void."""
    (fact, at) = ran()
    known = fold_configured(None, fact, at)
    late = replace(fact, at=Instant(fact.at - 1), config="older")
    assert fold_configured(known, late, NOW).config == "hash1"
    silent = replace(fact, at=Instant(fact.at + 1), config="")
    assert fold_configured(known, silent, NOW).config == "hash1"
    assert fold_configured(known, replace(silent, version="newer"), NOW).config == ""


MORE = """      redeployOnPublisherConfigChange: true
      promotion_data:
      - channel: payments-stage
        data:
        - {type: parent_saas_config, parent_saas: saas-payments, target_config_hash: hash1}
"""


def test_what_is_written_for_a_subscriber_is_read_and_only_news_is_wanted(tmp_path: Path) -> None:
    """As the existing manager writes it."""
    reading = reading_in(tmp_path, bundle_files(**{SAAS: saas_text(more=MORE)}))
    one, other = reading.subscribers
    written = ConfigHash("payments-stage", "saas-payments", "hash1")
    assert (one.follows_configs, one.configs, one.troubles) == (True, (written,), ())
    assert (other.follows_configs, other.configs) == (False, ())
    new = replace(written, target_config_hash="hash2")
    assert not wanted_promotions([one], {one.name: OLD}, {one.name: (written,)})
    (config,) = wanted_promotions([one], {one.name: OLD}, {one.name: (new,)})
    (version,) = wanted_promotions([one], {one.name: NEW}, {one.name: (written,)})
    assert [each.hashes for each in (*config.changes, *version.changes)] == [(new,), (written,)]
    assert config.content != version.content
