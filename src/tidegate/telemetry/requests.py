"""Numbers about requests, of the process that answers them."""

from collections.abc import Collection

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest

from tidegate.telemetry.metric_table import BUCKETS, HISTOGRAMS

# Whatever is not a route of the API: the page, its files, probes.
OTHER = "page"
# What goes on until its reader leaves says nothing about how fast answers are.
STREAMS = ("watch", "changes")


class RequestNumbers:
    """How long requests took, by the first word of their routes."""

    def __init__(self, base: str, words: Collection[str], *, own_process: bool) -> None:
        """`own_process`: what it uses is told, too; else the numbers of the worker have it."""
        self._base = f"{base}/"
        self._words = frozenset(words)
        self._registry = CollectorRegistry()
        _, known = HISTOGRAMS
        self._seconds = Histogram(
            known.name, known.help, known.labels, buckets=BUCKETS, registry=self._registry
        )
        if own_process:
            ProcessCollector(namespace="tidegate_api", registry=self._registry)

    def timed(self, method: str, path: str, took_s: float) -> None:
        """A request was answered."""
        word = OTHER
        if path.startswith(self._base):
            word = path.removeprefix(self._base).partition("/")[0]
            word = word if word in self._words else OTHER
        if word not in STREAMS:
            # A method is what its sender writes: there must not be a series for each.
            known = method if method in ("GET", "POST") else "other"
            self._seconds.labels(known, word).observe(took_s)

    def text(self) -> bytes:
        """What a scrape gets."""
        return generate_latest(self._registry)
