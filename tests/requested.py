"""A pipeline's merge requests for tests: a bundle of saas files, its forge, and a worker.

Each saas file has one subscriber of one channel, written with comments and quotes of its own; two
of them share a file. The worker does what the kind does in a round: read, plan, act, remember what
it saw. What it remembers is all that is left of it when it dies.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.git_repos import clone, commit, git, remote
from tidegate.forge.port import Forge
from tidegate.git.client.repository import open_repository
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.ports import ChangeReach, PromotionPorts
from tidegate.kinds.promotions.app.requests.acts import (
    PipelineOffers,
    RequestResult,
    carry_out_act,
)
from tidegate.kinds.promotions.app.requests.names import LABEL
from tidegate.kinds.promotions.app.requests.survey import RequestsReading, read_requests
from tidegate.kinds.promotions.core.requests.data_block import read_block
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    RequestAct,
    RequestPlan,
    RequestsWorld,
    SubscriberChange,
    promotion_of,
)
from tidegate.kinds.promotions.core.requests.plan import plan_requests
from tidegate.kinds.promotions.core.requests.record import (
    ClosedRequest,
    declined_requests,
    failed_batches,
)
from tidegate.kinds.promotions.core.world import ImageState
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.saas import field, items, text
from tidegate.model.errors import StaleError
from tidegate.model.verdict import Verdict

PIPELINE = "web"
NAMES = ("ants", "bees", "cats", "dogs", "eels")
URL = "https://git.example.com/web/app"
SHARED = "data/saas/shared.yml"


def file_of(name: str) -> str:
    """The saas file of a subscriber; the last two share one."""
    return SHARED if name in NAMES[3:] else f"data/saas/{name}.yml"


def saas_text(names: Iterable[str], ref: str) -> str:
    """A saas file with a target for each name, and one that is not promoted."""
    targets = "".join(
        f"""
  # {name} is careful
  - namespace: {{$ref: /ns/{name}.yml}}   # where it is
    ref: "{ref}"   # moved by promotions
    promotion:
      auto: true
      subscribe:
      - {name}-stage
"""
        for name in names
    )
    return f"""---
$schema: /app-sre/saas-file-2.yml
name: {next(iter(names))}
resourceTemplates:
- name: app
  url: {URL}
  targets:
  - namespace: {{$ref: /ns/stage.yml}}
    ref: main
    promotion: {{publish: [x-stage]}}
{targets}"""


class Artifact:
    """The repository that versions are commits of."""

    def __init__(self, folder: Path) -> None:
        self.bare = remote(folder, {"README": "app\n"})
        self._work = clone(self.bare, folder / "work")
        self.versions = [git(self._work, "rev-parse", "HEAD")]
        for number in range(3):
            self.versions.append(commit(self._work, {"a": str(number)}, f"step {number}"))
        git(self._work, "push", "-q", "origin", "main")

    def artifact(self, _address: str) -> Repository:
        """Read here, whatever its address is."""
        return open_repository(self._work)

    schemas = artifact


class NoImages:
    """No registry is asked."""

    async def state(self, _image: str) -> ImageState:
        """Nothing is known."""
        return ImageState.UNKNOWN


def bundle_files(version: str) -> dict[str, str | bytes]:
    """Every saas file at one version."""
    alone = {file_of(name): saas_text([name], version) for name in NAMES[:3]}
    return {**alone, SHARED: saas_text(NAMES[3:], version)}


class PipelineWorker:
    """Reads, plans and acts; `known` and `closed` are what its journal has."""

    def __init__(
        self, bundle: Path | Repository, forge: Forge, artifact: Artifact, *, adopt: bool = False
    ) -> None:
        repository = open_repository(bundle) if isinstance(bundle, Path) else bundle
        self.forge = forge
        self.adopt = adopt
        self.labels: tuple[str, ...] = ()
        self.said: Mapping[str, tuple[Verdict, ...]] = {}
        self.known: set[int] = set()
        self.closed: dict[int, ClosedRequest] = {}
        self.results: list[RequestResult] = []
        self.refused: list[str] = []
        # What every subscriber is to have.
        self.versions: dict[str, str] = {}
        self.ports = PromotionPorts(
            bundle=repository,
            folder=".",
            repositories=artifact,
            images=NoImages(),
            reach=lambda _commit, _files: ChangeReach(),
        )

    def wanted(self) -> tuple[ChannelPromotion, ...]:
        """One promotion for each subscriber that does not have its version."""
        repository = self.ports.bundle
        repository.fetch()
        files = Files(repository, repository.tip())
        found = []
        for name, version in self.versions.items():
            old = written(files, name)
            if old != version:
                change = SubscriberChange(
                    file=file_of(name),
                    template="app",
                    namespace=f"/ns/{name}.yml",
                    name=name,
                    old=old,
                    version=version,
                    repository=URL,
                )
                found.append(promotion_of((f"{name}-stage",), (change,)))
        return tuple(found)

    async def read(self) -> RequestsReading:
        """What the forge shows; it is remembered."""
        channels = [f"{name}-stage" for name in NAMES]
        found = await read_requests(
            self.forge, self.ports.bundle, PIPELINE, tuple(self.known), channels
        )
        self.known = {each.number for each in found.open}
        self.closed |= {each.number: each for each in found.closed}
        return found

    async def plan(self) -> tuple[RequestPlan, PipelineOffers]:
        """What is to be done now."""
        wanted = await asyncio.to_thread(self.wanted)
        reading = await self.read()
        world = RequestsWorld(
            pipeline=PIPELINE,
            wanted=wanted,
            requests=reading.open,
            failed=failed_batches(self.closed.values()),
            declined=declined_requests(self.closed.values()),
            adopt=self.adopt,
            labels=self.labels,
        )
        offers = PipelineOffers(
            pipeline=PIPELINE, wanted=wanted, said=self.said, labels=self.labels
        )
        return plan_requests(world), offers

    async def round(self) -> RequestPlan:
        """Plan, and carry everything out; what went stale is planned again by the next one."""
        plan, offers = await self.plan()
        for act in plan.due():
            await self._act(offers, act)
        return plan

    async def _act(self, offers: PipelineOffers, act: RequestAct) -> None:
        try:
            result = await carry_out_act(self.ports, self.forge, offers, act)
        except StaleError as error:
            self.refused.append(str(error))
            return
        self.results.append(result)
        if result.closed_before is not None:
            self.closed[result.closed_before.number] = result.closed_before

    async def settle(self, rounds: int = 8) -> RequestPlan:
        """Rounds until nothing is left to do."""
        for _ in range(rounds):
            plan = await self.round()
            if not plan.due():
                return plan
        raise AssertionError(f"{rounds} rounds did not settle: {plan.due()}")


def written(files: Files, name: str) -> str:
    """The version that is written for a subscriber."""
    for root in files.documents(file_of(name)):
        for template in items(root, "resourceTemplates"):
            for target in items(template, "targets"):
                channels = [each.value for each in items(field(target, "promotion"), "subscribe")]
                if channels == [f"{name}-stage"]:
                    return text(target, "ref")
    raise AssertionError(f"no target of {name}")


async def held_by(forge: Forge) -> dict[str, list[int]]:
    """The open requests of each channel, as any reader of the forge sees them."""
    found: dict[str, list[int]] = {}
    for request in await forge.find(label=LABEL):
        for each in read_block(request.description).holds:
            found.setdefault(",".join(each.channels), []).append(request.number)
    return found
