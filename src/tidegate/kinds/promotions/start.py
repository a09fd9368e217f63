"""Promotions, started from settings: those of a bundle, offered at the forge of its remote."""

from tidegate.engine.started import Started
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.settings.settings import Settings


def start(settings: Settings, _seed: int) -> Started | None:
    """The promotions of the bundle that is set; None: `kinds` does not name them.

    They have to be named (`--kind promotions`): a worker for another kind need not have a bundle,
    a clone or a token of a forge.
    """
    if not any(each.partition("/")[0] == KIND for each in settings.kinds):
        return None
    from tidegate.cli.merge_requests.proposal_options import forge_of
    from tidegate.kinds.promotions.cli.ports import ports_of
    from tidegate.kinds.promotions.kind import PromotionKind
    from tidegate.kinds.promotions.telemetry.observer import PromotionTelemetry
    from tidegate.wiring import clock

    ports = ports_of(settings, fetch=False)
    forge = forge_of(settings, ports.bundle.url)
    kind = PromotionKind(ports, forge, clock())
    return Started(kind, PromotionTelemetry(), forge.close, (KIND,))
