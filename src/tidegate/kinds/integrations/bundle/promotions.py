"""`Promotion` documents of a bundle, checked by the rules they are read by when one promotes."""

from collections.abc import Iterator, Mapping

from tidegate.kinds.integrations.bundle.finding import Fault
from tidegate.kinds.integrations.bundle.leaf import Leaf
from tidegate.kinds.integrations.bundle.places import Place
from tidegate.kinds.integrations.bundle.rollouts import faults_of
from tidegate.kinds.promotions.files.declared import read_declared
from tidegate.model.problem import Problems, shown


def promotion_faults(leaves: Mapping[str, Leaf]) -> Iterator[tuple[Place, Fault]]:
    """What is wrong with any of them; two of one name are."""
    seen: dict[str, str] = {}
    for path, leaf in leaves.items():
        for at, doc in enumerate(leaf.docs):
            if doc.kind != "promotion" or doc.data is None:
                continue
            problems = Problems()
            name = read_declared(doc.data, problems).name
            if name in seen:
                what = f"another promotion {shown(name)} is in {seen[name]}"
                problems.add("name", what, "give it another name")
            seen.setdefault(name, path)
            for fault in faults_of(problems, ()):
                yield Place(path, at), fault
