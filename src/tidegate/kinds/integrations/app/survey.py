"""Reads all clusters at once; one that cannot be read is reported, and the others are read."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from tidegate.kinds.integrations.core.workloads.change import ClusterReading, FoundObject, Key
from tidegate.kinds.integrations.core.workloads.estate import MANAGED_BY, US
from tidegate.kinds.integrations.core.workloads.live import pod_of
from tidegate.kubernetes.port import (
    CRON_JOB,
    DEPLOYMENT,
    POD,
    SERVICE,
    STATEFUL_SET,
    Cluster,
    NotAllowedError,
    Object,
    ObjectReading,
)
from tidegate.model.errors import OutsideError
from tidegate.registry.image import pulled_digest

KINDS = (SERVICE, DEPLOYMENT, STATEFUL_SET, CRON_JOB)
# So many clusters are read at once.
CLUSTERS_MAX = 16
# A cluster gives up by itself after a minute; this is for one that never does.
READ_S = 120.0
OURS = f"{MANAGED_BY}={US}"
EVERYWHERE = ""


class ClusterSurvey(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one cluster, and the objects themselves."""

    seen: ClusterReading
    objects: Mapping[Key, Object] = {}


async def read_clusters(
    clusters: Mapping[str, Cluster],
    namespaces: Mapping[str, Iterable[str]],
    *,
    pods: bool = False,
    clusters_max: int = CLUSTERS_MAX,
    read_s: float = READ_S,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, ClusterSurvey]:
    """What each cluster holds of ours, and everything in the namespaces that are asked for.

    With pods, also which digests run: a tag alone does not say.
    """
    slots = asyncio.Semaphore(clusters_max)

    async def one(name: str) -> ClusterSurvey:
        async with slots:
            try:
                async with asyncio.timeout(read_s):
                    spaces = tuple(namespaces.get(name, ()))
                    survey = await _read(name, clusters[name], spaces)
                    return await _with_pods(clusters[name], spaces, survey) if pods else survey
            except TimeoutError:
                return ClusterSurvey(
                    seen=ClusterReading(error=f"{name}: no answer within {read_s:g} s")
                )
            finally:
                progress(1)

    surveys = await asyncio.gather(*map(one, clusters))
    return dict(zip(clusters, surveys, strict=True))


async def _read(name: str, cluster: Cluster, namespaces: tuple[str, ...]) -> ClusterSurvey:
    asked = [cluster.read(each, KINDS) for each in namespaces]
    asked.append(cluster.read(EVERYWHERE, KINDS, OURS))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    gaps: dict[str, str] = {}
    notes: list[str] = []
    objects: dict[Key, Object] = {}
    for where, answer in zip((*namespaces, EVERYWHERE), answers, strict=True):
        if isinstance(answer, NotAllowedError) and where == EVERYWHERE:
            notes.append(
                f"{name}: may not look into all namespaces, so ours are only looked for in "
                f"{', '.join(namespaces) or 'none'}"
            )
        elif isinstance(answer, OutsideError):
            gaps[where] = str(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            gaps |= {where: "; ".join(answer.gaps)} if answer.gaps else {}
            objects |= _kept(name, answer, where, namespaces)
    if namespaces and all(each in gaps for each in namespaces) and not objects:
        return ClusterSurvey(seen=ClusterReading(error=gaps[namespaces[0]]))
    found = tuple(found_of(key, each) for key, each in objects.items())
    return ClusterSurvey(
        seen=ClusterReading(found=found, gaps=gaps, notes=tuple(notes)), objects=objects
    )


async def _with_pods(
    cluster: Cluster, namespaces: tuple[str, ...], survey: ClusterSurvey
) -> ClusterSurvey:
    """The same with the digests pods run; where they cannot be read, tags are all that is known."""
    asked = (cluster.read(each, [POD]) for each in namespaces)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    running: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    notes = list(survey.seen.notes)
    for answer in answers:
        if isinstance(answer, OutsideError):
            notes.append(f"which digests run is not known: {answer}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            for each in answer.objects:
                pod = pod_of(each.document)
                running[each.namespace, pod.workload].add(pulled_digest(pod.image_id))
    pulled = pulled_by(survey.objects, running)
    seen = msgspec.structs.replace(survey.seen, pulled=pulled, notes=tuple(dict.fromkeys(notes)))
    return msgspec.structs.replace(survey, seen=seen)


def pulled_by(
    keys: Iterable[Key], running: Mapping[tuple[str, str], Collection[str]]
) -> dict[Key, str]:
    """The digest of each workload whose pods all run the same, by namespace and workload."""
    return {
        key: next(iter(digests))
        for key in keys
        for digests in (running.get((key[1], key[3]), ()),)
        if len(digests) == 1 and key[2] != SERVICE.name
    }


def _kept(
    name: str, reading: ObjectReading, where: str, namespaces: tuple[str, ...]
) -> dict[Key, Object]:
    """What a reading adds: of a namespace that is read by itself, that reading has the say."""
    return {
        (name, each.namespace, each.kind.name, each.name): each
        for each in reading.objects
        if where != EVERYWHERE or each.namespace not in namespaces
    }


def found_of(key: Key, each: Object) -> FoundObject:
    cluster, namespace, kind, name = key
    return FoundObject(
        cluster=cluster,
        namespace=namespace,
        kind=kind,
        name=name,
        ours=each.ours,
        document=each.document,
    )
