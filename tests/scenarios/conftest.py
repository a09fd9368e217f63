"""The option that writes expectations anew."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/scenarios --rewrite`; TIDEGATE_REWRITE=1 does the same from anywhere."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        default=False,
        help="write what scenarios print now into their files, then read the difference",
    )
