"""Numbers as the text that Prometheus reads, made fast: a fleet has tens of thousands of them.

The lines of one metric must stand together, so what is kept of a round is the lines of each metric,
and a scrape only puts them one behind the other.
"""

from collections.abc import Iterable, Mapping

from tidegate.telemetry.metric_table import Known

# What stands between quotes and must not end them.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def lines(name: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    """One line a sample; of samples with the same labels the last."""
    known = {_labelled(labels): value for labels, value in samples}
    return "".join([f"{name}{labels} {value!r}\n" for labels, value in known.items()])


def family(known: Known, body: str) -> str:
    """The lines of one metric with what is said about it; nothing where there is none."""
    if not body:
        return ""
    type_ = "counter" if known.name.endswith("_total") else "gauge"
    return f"# HELP {known.name} {known.help}\n# TYPE {known.name} {type_}\n{body}"


def _labelled(labels: Mapping[str, str]) -> str:
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(value: str) -> str:
    # Most values need nothing, and looking is faster than translating.
    if "\\" in value or '"' in value or "\n" in value:
        return value.translate(_ESCAPES)
    return value
