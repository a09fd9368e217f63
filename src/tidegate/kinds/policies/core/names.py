"""The names under which revisions, pointers and policies are kept on a hub.

Hub templates read objects of the policy's own namespace only, so all of these are kept there.
"""

GROUP = "tidegate.dev"
VERSION = f"{GROUP}/v1alpha1"

# On ConfigMaps of revisions: the policy they belong to; on ConfigMaps of pointers: the cluster.
POLICY_LABEL = f"{GROUP}/policy"
CLUSTER_LABEL = f"{GROUP}/cluster"
# On a root Policy that Tidegate renders: the names of its author's labels and annotations.
STAGED = f"{GROUP}/staged"
# On a binding that Tidegate points at decisions of its own: the placement its author wrote.
PLACEMENT = f"{GROUP}/placement"
# On an author's Policy: the person who proposed what it says now, as they log in.
AUTHOR = f"{GROUP}/author"
# On an author's Policy: the fields of a Rollout, where there is no such object.
ROLLOUT = f"{GROUP}/rollout"

OCM_POLICY = "policy.open-cluster-management.io"
OCM_CLUSTER = "cluster.open-cluster-management.io"
# On a replicated Policy: `NAMESPACE.NAME` of its root.
ROOT_POLICY = f"{OCM_POLICY}/root-policy"
# On a template whose hub templates could not be resolved: the error.
HUB_ERROR = f"{OCM_POLICY}/hub-templates-error"
# On a Policy: a free text that approvals may be tied to.
POLICY_VERSION = f"{OCM_POLICY}/version"
# On a Placement: the scheduler leaves its decisions alone.
SCHEDULING_OFF = f"{OCM_CLUSTER}/experimental-scheduling-disable"
DECISION_PLACEMENT = f"{OCM_CLUSTER}/placement"
DECISION_GROUP = f"{OCM_CLUSTER}/decision-group-name"
DECISION_INDEX = f"{OCM_CLUSTER}/decision-group-index"

# `NAMESPACE.NAME` of a policy is a label and the name of its replicas: the API allows no more.
FULL_NAME_MAX = 63
# The name of a Placement is the value of a label of its decisions.
LABEL_MAX = 63


def full_name(namespace: str, policy: str) -> str:
    """A policy as its replicas are called. A namespace has no dot, so this can be taken apart."""
    return f"{namespace}.{policy}"


def split_name(name: str) -> tuple[str, str]:
    """The namespace and the name of a policy."""
    namespace, _, policy = name.partition(".")
    return namespace, policy


def revision_map(policy: str, revision: str) -> str:
    """The ConfigMap that holds a revision."""
    return f"{policy}-rev-{revision}"


def pointer_map(cluster: str) -> str:
    """The ConfigMap that says which revision of each policy a cluster gets."""
    return f"tidegate-pointers-{cluster}"


def own_placement(policy: str) -> str:
    """The Placement whose decisions Tidegate writes."""
    return f"tidegate-{policy}"


def wave_name(subject: str) -> str:
    """The Placement and the PlacementBinding by which a policy or a set is enforced in waves.

    No name of a Placement that stages revisions begins like this.
    """
    return f"tidegate.waves-{subject}"


def taken_back_name(subject: str) -> str:
    """The name under which clusters are noted whose wave was taken back; no Placement has it."""
    return f"tidegate.back-{subject}"


# The field manager under which the pointers of all policies are written, each entry by itself. One
# for each policy would cost a server the square of the policies that share a namespace.
POINTER_MANAGER = "tidegate-pointers"


def manager_of(namespace: str, policy: str) -> str:
    """The field manager under which a policy's objects are written.

    Each policy has its own: a server-side apply removes what the same manager applied before and
    leaves out now. Earlier versions wrote pointers under it as well.
    """
    return f"tidegate-{full_name(namespace, policy)}"
