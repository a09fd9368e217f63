"""The timeline of a simulated rollout as text: a row a group, a column a step.

·  waiting    ▶3  being updated    ◔3  soaking    ✓  all done    ✗1  failed    ↩2  on the way back
"""

from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.simulated.story import clock_text, on_the_way_back
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.model.target import State

LEGEND = "· waiting  ▶ updating  ◔ soaking  ✓ done  ✗ failed  ↩ returning"


def draw(scenario: Scenario, steps: list[SimulatedStep], width: int | None) -> list[str]:
    """The timeline, in as many blocks as the width needs."""
    heads = ["GROUP", *(group.name or "ungrouped" for group in scenario.groups)]
    name_size = max(len(head) for head in heads)
    columns = [_column(scenario, step) for step in steps]
    lines: list[str] = []
    block: list[list[str]] = []
    used = name_size
    for column in columns:
        size = max(len(cell) for cell in column) + 2
        if block and width is not None and used + size > width:
            lines += [*_block(heads, name_size, block), ""]
            block, used = [], name_size
        block.append(column)
        used += size
    return lines + _block(heads, name_size, block) + [LEGEND]


def _block(heads: list[str], name_size: int, block: list[list[str]]) -> list[str]:
    sizes = [max(len(cell) for cell in column) for column in block]
    rows: list[str] = []
    for at, head in enumerate(heads):
        cells = [column[at].ljust(size) for column, size in zip(block, sizes, strict=True)]
        rows.append("  ".join((head.ljust(name_size), *cells)).rstrip())
    return rows


def _column(scenario: Scenario, step: SimulatedStep) -> list[str]:
    starting = set(step.plan.started)
    back = on_the_way_back(step)
    cells = [clock_text(scenario, step.at)]
    for group in step.world.groups:
        positions = range(group.first, group.last)
        states = [State.IN_FLIGHT if i in starting else step.plan.states[i] for i in positions]
        cells.append(cell(states, sum(i in back for i in positions)))
    return cells


def cell(states: list[State], returning: int) -> str:
    """The content of one cell: the most important state, with its count."""
    failed = states.count(State.FAILED) + states.count(State.TIMED_OUT)
    flying, soaking = states.count(State.IN_FLIGHT), states.count(State.SOAKING)
    done = states.count(State.DONE)
    text = f"✗{failed}" if failed else ""
    if returning:
        return f"{text}↩{returning}"
    text += f"▶{flying}" if flying else ""
    text += f"◔{soaking}" if soaking else ""
    if not text and done == len(states):
        return "✓" if states else "-"
    return text or (f"✓{done}" if done else "·")
