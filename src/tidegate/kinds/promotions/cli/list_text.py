"""Lists of versions and of pending commits as tables."""

from tidegate.explain.table import layout
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.app.documents import PendingList, PromotionList, PromotionVersion
from tidegate.kinds.promotions.app.lane_parts import LaneEnvironment
from tidegate.kinds.promotions.app.lanes import PromotionLaneList
from tidegate.model.time import Instant, format_age, parse_instant

HEADS = ("ENVIRONMENT", "VERSION", "SINCE", "BY", "BEHIND", "PLACES")


def version_lines(
    found: PromotionList, now: Instant, width: int | None, *, wide: bool, headed: bool
) -> list[str]:
    """Every environment; the name of the promotion comes first where there are several."""
    heads, cells = HEADS, [_cells(row, now, wide) for row in found.items]
    if len({row.promotion for row in found.items}) > 1:
        named = [(row.promotion, *cell) for row, cell in zip(found.items, cells, strict=True)]
        return layout(("PROMOTION", *heads), named, width, headed=headed)
    return layout(heads, cells, width, headed=headed)


def _cells(row: PromotionVersion, now: Instant, wide: bool) -> tuple[str, ...]:
    since = format_age(now - parse_instant(row.since)) if row.since is not None else "-"
    whole = wide or len(row.places) == 1
    places = ", ".join(row.places) if whole else str(len(row.places) or "-")
    version = row.version if wide or not row.places else row.version[:SHORT]
    return row.environment, version, since, _by(row), _behind(row), places


def _by(row: PromotionVersion) -> str:
    if row.commit is None:
        return "-" if row.behind is None else "follows"
    return f"!{row.merge_request.number}" if row.merge_request is not None else row.commit[:SHORT]


def _behind(row: PromotionVersion) -> str:
    if row.behind is None:
        return "unknown"
    return str(row.behind) if row.behind else "-"


def lane_lines(
    found: PromotionLaneList, now: Instant, width: int | None, *, headed: bool
) -> list[str]:
    """Every environment of every promotion, as it was read last."""
    rows = [
        (
            lane.promotion,
            f"{each.environment} {each.name}" if each.environment else each.name,
            ", ".join(version[:SHORT] for version in each.versions) or each.follows or "-",
            "-" if each.since is None else format_age(now - parse_instant(each.since)),
            "unknown" if each.behind is None else str(each.behind or "-"),
            each.state,
            _offered(each),
            "-" if lane.read_at is None else format_age(now - parse_instant(lane.read_at)),
            "; ".join(each.missing) or each.why or "; ".join(each.troubles),
        )
        for lane in found.items
        for each in lane.environments
    ]
    heads = (
        "PROMOTION", "ENVIRONMENT", "VERSION", "SINCE", "BEHIND", "STATE", "OFFER", "READ", "WHY",
    )  # fmt: skip
    return layout(heads, rows, width, headed=headed)


def _offered(each: LaneEnvironment) -> str:
    if each.offer is None:
        return "-"
    return f"{each.offer.version[:SHORT]} {each.offer.state}"


def pending_lines(found: PendingList, now: Instant, width: int | None) -> list[str]:
    """Every pending commit."""
    every = len(found.environments)
    rows = [
        (
            each.author.name,
            format_age(now - parse_instant(each.at)),
            each.sha[:SHORT],
            "everywhere" if len(each.missing) == every > 1 else ", ".join(each.missing),
            each.subject,
        )
        for each in found.items
    ]
    return layout(("AUTHOR", "AGE", "COMMIT", "MISSING IN", "SUBJECT"), rows, width)
