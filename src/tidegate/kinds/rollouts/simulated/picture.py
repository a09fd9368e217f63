"""The timeline of a simulated rollout as an SVG picture: a band a group, time from left to right.

Each band is filled from its foot up: done, soaking, being updated, failed, waiting. A revision that
failed in a group is returned in the same moment, so a failure may last no time at all: from then on
the group keeps a red edge, until another revision goes out. Plain text, no library: the file opens
in any browser and diffs in Git.
"""

from html import escape

from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.simulated.story import clock_text, on_the_way_back, opening
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.model.target import State

_STYLE = 'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="13"'
_LEFT, _TOP, _WIDTH, _BAND, _GAP = 150, 64, 900, 44, 14
# One colour a state, distinct in lightness as well as in hue.
COLOURS = {
    "done": "#2e9e5b",
    "soaking": "#e0b43c",
    "updating": "#3b7dd8",
    "returning": "#8a63c9",
    "failed": "#c8372d",
    "waiting": "#d9dde3",
}
# How tall the red edge of a group is in which the revision has failed.
_EDGE = 6
# Labels on the axis nearer than this would run into each other.
_LABEL_MIN = 56


def draw_svg(scenario: Scenario, steps: list[SimulatedStep]) -> str:
    """The whole picture."""
    start, end = steps[0].at, max(steps[-1].at, steps[0].at + 1)
    # The last step has no end of its own: it is drawn a little wide, so that it can be seen.
    end += (end - start) // 20 + 1
    scale = _WIDTH / (end - start)
    places = [(step.at - start) * scale for step in steps] + [float(_WIDTH)]
    height = _TOP + len(scenario.groups) * (_BAND + _GAP) + 76
    width = _LEFT + _WIDTH + 20
    parts = [
        f'<svg {_STYLE} width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(opening(scenario))}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="16" y="28" font-size="16" font-weight="600">{escape(opening(scenario))}</text>',
    ]
    for row, group in enumerate(scenario.groups):
        name = group.name or "ungrouped"
        parts += _band(row, name, steps, places)
        parts += _edges(row, name, scenario, steps, places)
    parts += _axis(scenario, steps, places, height - 64)
    parts += _legend(height - 14)
    return "\n".join([*parts, "</svg>", ""])


def _band(row: int, name: str, steps: list[SimulatedStep], places: list[float]) -> list[str]:
    top = _TOP + row * (_BAND + _GAP)
    parts = [f'<text x="16" y="{top + _BAND // 2 + 5}">{escape(name)}</text>']
    for at, step in enumerate(steps):
        counts = _counts(step, row)
        total = sum(counts.values())
        x, wide = _LEFT + places[at], places[at + 1] - places[at]
        foot = float(top + _BAND)
        for word, count in counts.items():
            if count:
                tall = _BAND * count / total
                foot -= tall
                parts.append(
                    f'<rect x="{x:.1f}" y="{foot:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
                    f'fill="{COLOURS[word]}"><title>{escape(name)}: {count} {word}</title></rect>'
                )
    return parts


def _edges(
    row: int, name: str, scenario: Scenario, steps: list[SimulatedStep], places: list[float]
) -> list[str]:
    """A red edge from each failure on, until another revision goes out."""
    y = _TOP + row * (_BAND + _GAP) - _EDGE
    parts: list[str] = []
    begun, most = 0, 0
    for at, step in enumerate([*steps, None]):
        ended = step is None or step.world.revision != steps[begun].world.revision
        if most and ended:
            x, wide = _LEFT + places[begun], places[at] - places[begun]
            revision = steps[begun].world.revision or "it"
            since = clock_text(scenario, steps[begun].at)
            said = escape(f"{name}: {revision} failed on {most}, first at {since}")
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{_EDGE}" '
                f'fill="{COLOURS["failed"]}"><title>{said}</title></rect>'
            )
            most = 0
        if step is not None:
            failed = _counts(step, row)["failed"]
            begun = begun if most else at
            most = max(most, failed)
    return parts


def _counts(step: SimulatedStep, row: int) -> dict[str, int]:
    """How many of a group are in each state, foot first, as of just after the step."""
    counts = dict.fromkeys(COLOURS, 0)
    if row >= len(step.world.groups):
        return counts
    group = step.world.groups[row]
    starting = set(step.plan.started)
    back = on_the_way_back(step)
    for i in range(group.first, group.last):
        word = "updating" if i in starting else _STATES[step.plan.states[i]]
        if i in back and word != "failed":
            word = "returning"
        counts[word] += 1
    return counts


_STATES = {
    State.WAITING: "waiting",
    State.HOLDING: "waiting",
    State.JOINED: "waiting",
    State.IN_FLIGHT: "updating",
    State.SOAKING: "soaking",
    State.DONE: "done",
    State.FAILED: "failed",
    State.TIMED_OUT: "failed",
}


def _axis(scenario: Scenario, steps: list[SimulatedStep], places: list[float], y: int) -> list[str]:
    parts = [f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + _WIDTH}" y2="{y}" stroke="#8a94a3"/>']
    last = -float(_LABEL_MIN)
    for step, place in zip(steps, places, strict=False):
        if place - last >= _LABEL_MIN:
            x = _LEFT + place
            parts.append(
                f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}" stroke="#8a94a3"/>'
            )
            label = escape(clock_text(scenario, step.at))
            parts.append(f'<text x="{x:.1f}" y="{y + 18}" font-size="11">{label}</text>')
            last = place
    return parts


def _legend(y: int) -> list[str]:
    parts: list[str] = []
    for at, (word, colour) in enumerate(COLOURS.items()):
        x = _LEFT + at * 110
        parts.append(f'<rect x="{x}" y="{y - 11}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{y}" font-size="12">{word}</text>')
    return parts
