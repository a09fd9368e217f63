"""Page: the fleet in a Chromium, one rollout of many cells, with and without changes.

A service without a worker, in this process; a journal in which the rollout was decided once. Twenty
times a second a target changes in the journal. Chromium renders by software, so its CPU is an upper
bound, and wall times are those of the whole machine: service, browser and writer share its cores.

    sent           what the first load of the home page takes off the network, compressed
    paint, drawn   from navigation to the first content, and until every cell is on the canvas
    filter         from a key to the map, which follows before the service is asked
    why            from a click on a cell to its gates, the median of five
    renderer       CPU of the renderer while 20 changes a second come in, of one core
    visible        requests of a tab that is looked at for a minute in which nothing happens, for
                   eight hours (times 480), and how its heap grew over 60 refreshes, a second apart
    hidden         requests of a hidden tab whose timers were moved on by eight hours at once
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from bench.table import Report, count, draw, figure
from bench.timing import Effort
from tidegate.access.roles import Role
from tidegate.journal.chain import JournalNote
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.model.target import Status, Target
from tidegate.wiring import clock

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.page.stage import PageService

SIZES = (1_000, 10_000, 50_000)
GROUPS = 50
CHANGES_PER_S = 20
WATCHED_S, NIGHT_S = 60.0, 8 * 3600
REFRESHES = 60
CLICKS = 5
PATIENCE_S = 60.0
# The limits of each figure, by size; none: it is only told.
LIMITS: dict[str, dict[int, float]] = {
    "sent_kb": {10_000: 300},
    "paint_ms": {10_000: 1_000},
    "drawn_ms": {50_000: 1_500},
    "filter_ms": {10_000: 150},
    "why_ms": {10_000: 100},
    "renderer_percent": {10_000: 10},
}
# Notes the moments that a page reaches, by its own clock.
_WATCH = """
window.reached = {};
new MutationObserver(() => {
  const map = document.querySelector("#map"), why = document.querySelector("#panel h2");
  if (map?.dataset.drawn && !window.reached.drawn) window.reached.drawn = performance.now();
  if (why && !window.reached.why) window.reached.why = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true});
"""
_FILTER = """() => new Promise((done) => {
  const field = document.querySelector("#q"), began = performance.now(), before = location.href;
  const look = () => location.href === before ? requestAnimationFrame(look)
    : requestAnimationFrame(() => done(performance.now() - began));
  field.value = "g07";
  field.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(look);
})"""
_BEFORE_CLICK = """() => {
  document.querySelector("#panel").replaceChildren();
  window.reached = {};
  document.querySelector("#map").addEventListener("click",
    () => { window.reached.clicked = performance.now(); }, {capture: true, once: true});
}"""
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_HIDE = """() => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
_REFRESH = "() => document.querySelector('#sheet').dispatchEvent(new Event('close'))"


class Row(msgspec.Struct, frozen=True):
    """What a page of so many cells takes."""

    cells: int
    sent_kb: float
    paint_ms: float
    drawn_ms: float
    filter_ms: float
    why_ms: float
    renderer_percent: float
    visible_requests: int
    grew_kb: float
    hidden_requests: int


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Every size; where there is no Chromium, a line says so."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program or not Path(program).exists():
        line = "page: not measured, for there is no chromium here (CHROMIUM names one)"
        say(line)
        return Report([], [line])
    rows: list[Row] = []
    for cells in (100,) if effort.smoke else SIZES if effort.peer else SIZES[:2]:
        say(f"page: {cells:,} cells")
        # A browser has the loop of this thread, so the journal is made before; and one browser a
        # size, for what one size leaves in it is no burden for the next.
        with _serving(cells) as (service, url):
            token = service.client(Role.ADMIN).token
            with _browsing(program) as browser:
                rows.append(_measure(browser, service, url, token, cells, effort.smoke))
        if not effort.smoke:
            say(_table(rows[-1:]))
    return Report(rows, [_table(rows)])


@contextmanager
def _browsing(program: str) -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _serving(cells: int) -> Iterator[tuple["PageService", str]]:
    from tests.api.listener import listening
    from tests.page.stage import PageService, journal_of

    groups = [{"name": f"g{at:02}", "count": cells // GROUPS} for at in range(GROUPS)]
    strategy = {"type": "ProgressivePerGroup"}
    scenario = {"name": "bench", "revision": "v2", "lastGood": "v1", "groups": groups}
    with tempfile.TemporaryDirectory() as folder:
        service = PageService(journal_of(Path(folder), {**scenario, "strategy": strategy}))
        with listening(service) as url:
            yield service, url
        service.archive.close()


def _measure(
    browser: "Browser", service: "PageService", url: str, token: str, cells: int, smoke: bool
) -> Row:
    watched_s = 1.0 if smoke else WATCHED_S
    first = browser.new_context()
    login = first.new_page()
    login.goto(f"{url}/login")
    login.fill("#token", token)
    login.click("button.primary")
    login.wait_for_selector("#top")
    # A browser that has nothing of the page yet.
    page = browser.new_context(storage_state=first.storage_state()).new_page()
    page.set_viewport_size({"width": 1440, "height": 900})
    first.close()
    page.add_init_script(_WATCH)
    sent = _counted(page)
    page.goto(f"{url}/")
    _until(page, "() => window.reached?.drawn")
    page.wait_for_timeout(500)
    sent_kb, painted, drawn = sent() / 1000, page.evaluate(_PAINTED), _reached(page, "drawn")
    renderer = _renderer_percent(browser, page, service, 1.0 if smoke else 15.0)
    filtered = float(page.evaluate(_FILTER))
    why = _why_ms(page)
    visible, grew_kb = _watched(page, watched_s, 3 if smoke else REFRESHES)
    return Row(
        cells, sent_kb, float(painted), drawn, filtered, why, renderer,
        round(visible * NIGHT_S / watched_s), grew_kb, _hidden_requests(page),
    )  # fmt: skip


def _counted(page: "Page") -> Callable[[], float]:
    """Counts bytes off the network from now on."""
    network, taken = page.context.new_cdp_session(page), [0.0]
    network.send("Network.enable")
    network.on(
        "Network.loadingFinished",
        lambda event: taken.append(float(event["encodedDataLength"])),
    )
    return lambda: sum(taken)


def _why_ms(page: "Page") -> float:
    """Clicks on some cells of the first row, one after the other; the median."""
    box = page.locator("#map").bounding_box()
    assert box is not None, "the map is there"
    taken: list[float] = []
    for number in range(CLICKS):
        # What a filter or a change has asked for is through.
        page.wait_for_timeout(1_500)
        page.evaluate(_BEFORE_CLICK)
        page.mouse.click(box["x"] + 5 + 6 * number, box["y"] + 46)
        _until(page, "() => window.reached.why")
        taken.append(_reached(page, "why") - _reached(page, "clicked"))
    return median(taken)


def _renderer_percent(
    browser: "Browser", page: "Page", service: "PageService", seconds: float
) -> float:
    """CPU of the renderers while targets change."""
    ended = threading.Event()
    writer = threading.Thread(target=_change, args=(service, ended))
    writer.start()
    try:
        page.wait_for_timeout(2_000 * min(1.0, seconds))
        before, began = _cpu_s(browser), time.monotonic()
        page.wait_for_timeout(1000 * seconds)
        took_s = time.monotonic() - began
        spent_s = sum(cpu_s - before.get(each, 0.0) for each, cpu_s in _cpu_s(browser).items())
        return 100 * spent_s / took_s
    finally:
        ended.set()
        writer.join(PATIENCE_S)


def _cpu_s(browser: "Browser") -> dict[int, float]:
    """CPU of every renderer so far, by its process."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    every = (each for each in found["processInfo"] if each["type"] == "renderer")
    return {int(each["id"]): float(each["cpuTime"]) for each in every}


def _change(service: "PageService", ended: threading.Event) -> None:
    """One target after the other moves and is done, so many a second."""
    partition = next(each for each in service.archive.heads() if "/" in each)
    known = service.client().get(f"/cells/{partition}").json["names"]
    names = known[:: max(1, len(known) // 200)]
    at, began = 0, time.monotonic()
    while not ended.wait(max(0.0, began + at / CHANGES_PER_S - time.monotonic())):
        status = Status.Progressing if at // len(names) % 2 == 0 else Status.Succeeded
        now = clock().now()
        report = Target(names[at % len(names)], status, now, "v2")
        fact = TargetsObserved(reports=(report,))
        service.archive.append(partition, [JournalNote(now, "bench", fact)])
        at += 1


def _watched(page: "Page", seconds: float, refreshes: int) -> tuple[int, float]:
    """Requests of an idle tab, and how many kB its heap grew over some refreshes."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(1000 * seconds)
    requests = len(asked)
    before = _heap_kb(page)
    for _ in range(refreshes):
        page.evaluate(_REFRESH)
        page.wait_for_timeout(1_050)
    return requests, _heap_kb(page) - before


def _heap_kb(page: "Page") -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = session.send("Runtime.getHeapUsage")
    return float(found["usedSize"]) / 1000


def _hidden_requests(page: "Page") -> int:
    """Requests of a hidden tab while eight hours pass by its own timers."""
    page.clock.install()
    page.evaluate(_HIDE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(NIGHT_S * 1000)
    page.wait_for_timeout(500)
    return len(asked)


def _until(page: "Page", condition: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {condition}"
        time.sleep(0.05)


def _reached(page: "Page", moment: str) -> float:
    return float(page.evaluate(f"() => window.reached.{moment}"))


def _goals(row: Row) -> str:
    """What of the limits was missed."""
    missed = [
        f"{name.rpartition('_')[0]} over {limits[row.cells]:,.0f}"
        for name, limits in LIMITS.items()
        if row.cells in limits and getattr(row, name) > limits[row.cells]
    ]
    known = any(row.cells in limits for limits in LIMITS.values())
    return ", ".join(missed) or ("all met" if known else "")


def _table(rows: list[Row]) -> str:
    heads = (
        "CELLS", "SENT KB", "PAINT MS", "DRAWN MS", "FILTER MS", "WHY MS", "RENDERER %",
        "VISIBLE 8 H", "GREW KB", "HIDDEN 8 H", "LIMITS",
    )  # fmt: skip
    lines = [
        (
            count(row.cells),
            figure(row.sent_kb),
            figure(row.paint_ms),
            figure(row.drawn_ms),
            figure(row.filter_ms),
            figure(row.why_ms),
            figure(row.renderer_percent),
            count(row.visible_requests),
            figure(row.grew_kb),
            count(row.hidden_requests),
            _goals(row),
        )
        for row in rows
    ]
    return draw("Page: in Chromium, rendered by software", heads, lines)
