"""Every reader of what comes from elsewhere, as a function of bytes; what it may raise is ours."""

import random
from collections.abc import Callable, Mapping
from datetime import UTC
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tests.api.stage import PARTITION, Service
from tidegate.access.policy_doc import read_policy
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.bundle.leaf import schemas_in
from tidegate.documents.files import read_as, read_document
from tidegate.documents.ics import read_calendar
from tidegate.documents.line import parse_line
from tidegate.documents.scope_doc import parse_selector
from tidegate.edit.tree import documents
from tidegate.journal.lines import read_lines
from tidegate.kinds.policies.wire.rehearsal_doc import read_rehearsal
from tidegate.kinds.promotions.wire.promotion_doc import read_promotion
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.kinds.upgrades.wire.labels_doc import read_blocks, read_policies, read_sectors
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.kinds.upgrades.wire.service_file import read_service_file
from tidegate.model.errors import TidegateError
from tidegate.model.problem import Problems
from tidegate.model.time import parse_duration, parse_instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.setting_reader import read_settings

Read = Callable[[bytes], object]
# How many routes meet a document: the fewest documents of a test are enough for all routes.
ROUTES = 2


class Readers:
    """The readers by name."""

    def __init__(self, folder: Path, service: Service) -> None:
        self._file = folder / "document.yaml"
        self._client = service.client()
        self._rng = random.Random(1)
        # Every route of the tables in its turn, and those that were met.
        self._acts, self._questions = cycle(ACTS), cycle(QUESTIONS)
        self.met: set[str] = set()
        self.table: Mapping[str, Read] = {
            "scenario": self._from_file(lambda path: read_as(path, read_scenario)),
            "rehearsal": self._from_file(lambda path: read_as(path, read_rehearsal)),
            "access policy": self._from_file(lambda path: read_policy(_data(path), "")),
            "promotion": self._from_file(lambda path: read_promotion(_data(path), Problems())),
            "settings": self._from_file(lambda path: read_settings(_data(path), Problems())),
            "policies of clusters": self._from_file(lambda path: read_policies(_data(path))),
            "sectors": self._from_file(lambda path: read_sectors(_data(path))),
            "blocks": self._from_file(lambda path: read_blocks(_data(path))),
            "upgrades": self._from_file(lambda path: read_service_file(Path(path))),
            "prometheus": self._from_file(lambda path: read_servers(Path(path))),
            "brakes": self._from_file(lambda path: BrakeFile(Path(path), must_exist=True).read()),
            "calendar": _given(
                lambda raw: read_calendar(raw.decode(errors="replace"), UTC), ValueError
            ),
            "journal": lambda raw: list(read_lines(raw.splitlines())),
            "line": _given(parse_line, msgspec.MsgspecError),
            "upgrade line": _given(read_upgrades, msgspec.MsgspecError),
            "bundle": schemas_in,
            "edit": lambda raw: documents("edited.yaml", raw.decode(errors="replace")),
            "words": self._words,
            "API body": self._body,
            "API query": self._query,
        }

    def _from_file(self, read: Callable[[str], object]) -> Read:
        def reading(raw: bytes) -> object:
            self._file.unlink(missing_ok=True)
            self._file.write_bytes(raw)
            return read(str(self._file))

        return reading

    def _words(self, raw: bytes) -> None:
        text = raw[:2_000].decode(errors="replace")
        for parse in (parse_selector, parse_duration, parse_instant):
            _given(lambda _, parse=parse: parse(text), ValueError)(raw)  # type: ignore[misc]

    def _body(self, raw: bytes) -> None:
        for act in islice(self._acts, ROUTES):
            path = act.path.replace("{name}", self._rng.choice((PARTITION, "x", "%00", "a/b/c")))
            answer = self._client.post(f"{path}?dryRun=true", raw[: 2 << 20])
            assert answer.status < 500, f"POST {path}: {answer.status} {answer.text[:300]}"
            self.met.add(act.path)

    def _query(self, raw: bytes) -> None:
        for question in islice(self._questions, ROUTES):
            name = quote(raw[:100]) if self._rng.random() < 0.3 else PARTITION
            path = question.path.replace("{name}", name)
            fields = msgspec.structs.fields(question.query)
            key = self._rng.choice(fields).encode_name if fields else "x"
            answer = self._client.get(f"{path}?{key}={quote(raw[:3_000])}")
            assert answer.status < 500, f"GET {path}: {answer.status} {answer.text[:300]}"
            self.met.add(question.path)


def _data(path: str) -> Any:
    return read_document(path).data


def _given(read: Read, *refusals: type[Exception]) -> Read:
    """A reader whose callers expect these refusals."""

    def reading(raw: bytes) -> object:
        try:
            return read(raw)
        except refusals:
            return None

    return reading


def refused(read: Read, raw: bytes) -> bool:
    """Whether a document is refused, in our own words; anything else is raised."""
    try:
        read(raw)
    except TidegateError as error:
        return bool(str(error)) or _silent(error)
    return False


def _silent(error: TidegateError) -> bool:
    raise AssertionError("a refusal says why") from error
