"""A policy, or a set of them, on the stage of a rehearsal: its revisions by the story's names."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tidegate.kinds.policies.core.names import full_name
from tidegate.kinds.policies.core.revision import Fields, revision_of
from tidegate.kinds.policies.core.sets import set_revision
from tidegate.kinds.policies.core.waves import StageWay, content_of, enforced, informed
from tidegate.kinds.policies.simulated.author import made_up_spec
from tidegate.kinds.policies.simulated.scenario import (
    PolicyScenario,
    PolicyVerb,
    RehearsedPolicy,
)


class StagedPolicy(msgspec.Struct):
    """A policy or a set on the stage, as its author and its operators have it now."""

    # As the story calls it.
    name: str
    namespace: str
    # The policy, or the set, on the hub.
    policy: str
    # The namespace in which its author keeps it.
    source: str
    rollout: tuple[str, str]
    fields: dict[str, Any]
    # By revision, as the story calls it, the spec of each policy.
    specs: dict[str, dict[str, Fields]]
    # The policies of a set; empty: it is one policy.
    of: tuple[str, ...] = ()

    @property
    def partition(self) -> str:
        """The policy as the engine calls it."""
        return f"policies/{full_name(self.namespace, self.policy)}"

    def revision(self, label: str) -> str:
        """What a revision is called on the hub."""
        found = {name: revision_of(spec).name for name, spec in self.specs[label].items()}
        return set_revision(found) if self.of else next(iter(found.values()))

    @property
    def labels(self) -> dict[str, str]:
        """The names of revisions on the hub, and those that the story has for them."""
        found = {self.revision(label): label for label in self.specs}
        for label, specs in self.specs.items():
            content = content_of(specs)
            found |= {enforced(content): f"enforce {label}", informed(content): f"inform {label}"}
        return found

    def label(self, revision: str) -> str:
        """A revision as the story calls it."""
        return self.labels.get(revision, revision)


def staged_policies(scenario: PolicyScenario) -> Iterator[StagedPolicy]:
    """The policies and sets of a rehearsal."""
    for each in scenario.policies:
        name = scenario.prefix + each.name
        of = tuple(scenario.prefix + one for one in each.of)
        waves = each.rollout.get("stage") == StageWay.WAVES.value
        # What is enforced in waves is the root itself.
        home = scenario.namespace if waves else scenario.source
        named = {"policySet" if of else "policy": name}
        source = {} if waves else {"source": {"namespace": home}}
        action = "inform" if waves else "enforce"
        yield StagedPolicy(
            name=each.name,
            namespace=scenario.namespace,
            policy=name,
            source=home,
            rollout=(scenario.namespace, name),
            fields={**named, **source, **each.rollout},
            specs={
                label: {
                    one: scenario.revisions.get(label) or made_up_spec(one, label, action)
                    for one in of or (name,)
                }
                for label in _revisions(scenario, each)
            },
            of=of,
        )


def _revisions(scenario: PolicyScenario, policy: RehearsedPolicy) -> list[str]:
    """The revisions that a policy has in a story, as the story calls them."""
    events = [each for each in scenario.events if each.policy == policy.name]
    revised = [each.names[0] for each in events if each.verb is PolicyVerb.REVISE]
    return list(dict.fromkeys(filter(None, (policy.has, policy.wants, *revised))))
