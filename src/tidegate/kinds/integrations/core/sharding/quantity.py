"""Amounts of CPU and memory as Kubernetes writes them: 100m, 0.5, 2Gi, 1e3.

Read exactly, as fractions: 1200m is more than 1, and 1Gi less than 1.1G.
"""

import re
from fractions import Fraction
from functools import lru_cache

REMEDY = "write an amount like 100m, 2, 500Mi or 2Gi"

_BINARY: dict[str, int] = {
    name: 1 << 10 * power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}
_FORM = re.compile(
    r"(?P<number>[0-9]+(\.[0-9]*)?|\.[0-9]+)"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,3})?",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Fraction:
    """The amount a text stands for; ValueError says what is wrong with it."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError("not an amount")
    number, suffix = Fraction(found["number"].rstrip(".")), found["suffix"] or ""
    if suffix in _BINARY:
        return number * _BINARY[suffix]
    if suffix in _DECIMAL:
        return number * _DECIMAL[suffix]
    return number * Fraction(f"1{suffix}")
