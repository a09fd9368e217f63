"""The scope of a brake as requests and documents have it, and in a few words."""

from msgspec import UNSET, UnsetType, field

from tidegate.model.document import Part


class LabelRequirement(Part, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one label must be."""

    key: str
    operator: str  # In, NotIn, Exists, DoesNotExist
    values: tuple[str, ...] = ()


class LabelSelector(Part, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Targets by their labels, as Kubernetes selects."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelRequirement, ...] = ()


class BrakeScope(Part, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a brake covers: everything, or targets by labels or by name; of some kinds only."""

    everything: bool = False
    selector: LabelSelector | None = None
    targets: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


def covers(scope: BrakeScope | UnsetType) -> str:
    """A scope in few words; unset: it is not known, so it may be everything."""
    if scope is UNSET:
        return "everything"
    words = [", ".join(scope.targets)] if scope.targets else []
    if scope.selector is not None:
        words += [f"{key}={value}" for key, value in scope.selector.match_labels.items()]
        words += map(_requirement, scope.selector.match_expressions)
    kinds = ", ".join(scope.kinds)
    if not words:
        return f"all {kinds}" if kinds else "everything"
    return f"{','.join(words)} ({kinds})" if kinds else ",".join(words)


def _requirement(each: LabelRequirement) -> str:
    values, alone = ",".join(each.values), len(each.values) == 1
    forms = {
        "In": f"{each.key}={values}" if alone else f"{each.key} in ({values})",
        "NotIn": f"{each.key}!={values}" if alone else f"{each.key} notin ({values})",
        "Exists": each.key,
    }
    return forms.get(each.operator, f"!{each.key}")
