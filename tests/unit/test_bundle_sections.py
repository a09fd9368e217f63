"""A bundle knows no kind: sections bring the types of documents, and their own values."""

import subprocess
import sys
from pathlib import Path

import msgspec

import tidegate
from tests.bundles import INVENTORY, MemoryTree, bundle_of
from tidegate.bundle.finding import DocumentFault
from tidegate.bundle.reader import programs, read_bundle, salt_of
from tidegate.bundle.section import BundleSection, Documents, DocumentType, Faults
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.machine.file_cache import NoCache
from tidegate.wiring.bundles import bundle_sections

ROOT = Path(tidegate.__file__).parent
# What fetches bytes and keeps them; it decides nothing of what they mean.
AROUND = ("git", "machine")

RUN = """
import sys
from pathlib import Path
from tidegate.bundle.reader import read_bundle
from tidegate.git.client.tree.directory import DirectoryTree
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.policies.bundle import POLICIES_SECTION
from tidegate.kinds.promotions.bundle import PROMOTIONS_SECTION
from tidegate.kinds.promotions.files import declared
from tidegate.kinds.upgrades.bundle import UPGRADES_SECTION
from tidegate.machine.file_cache import NoCache
sections = (INTEGRATIONS, POLICIES_SECTION, PROMOTIONS_SECTION, UPGRADES_SECTION)
read_bundle(DirectoryTree(Path(sys.argv[1])), NoCache(), sections)
for name, module in sorted(sys.modules.items()):
    if name.startswith("tidegate."):
        print(name, module.__file__)
"""


class Toys(msgspec.Struct, frozen=True):
    """The value of a section of a test."""

    names: tuple[str, ...]
    errors: int = 0


def toy_section(folder: Path) -> BundleSection[Toys]:
    """A section that reads toys, and the field `toy` of clusters."""
    (folder / "toy.json").write_text(
        '{"$id": "tidegate:/toy", "type": "object", "required": ["name"],'
        ' "properties": {"name": {"type": "string"}, "cluster": {"$ref": "tidegate:/reference"}}}'
    )
    (folder / "cluster.json").write_text(
        '{"$id": "tidegate:/toys/cluster", "properties": {"toy": {"type": "string"}}}'
    )

    def read(documents: Documents, faults: Faults) -> Toys:
        found = []
        for place, doc in documents.of("toy"):
            if doc.data is not None:
                found.append(doc.data["name"])
                if "toy" not in documents.data(doc.data["cluster"]):
                    faults.append(
                        (place, DocumentFault(path=("cluster",), message="no toy", rule="toy"))
                    )
        return Toys(tuple(found))

    return BundleSection(
        name="toys",
        types=(
            DocumentType(
                name="toy", noun="a toy", schemas=("/toy-1.yml",), links={"cluster": "cluster"}
            ),
            DocumentType(name="cluster", kept=("toy",)),
        ),
        schemas=folder,
        value=Toys,
        read=read,
        finish=lambda toys, _, findings: msgspec.structs.replace(toys, errors=len(findings)),
        programs=(folder,),
    )


FILES = {
    "a.yml": "$schema: /toy-1.yml\nname: a\ncluster: {$ref: /c.yml}\n",
    "b.yml": "$schema: /toy-1.yml\nname: b\ncluster: {$ref: /d.yml}\n",
    "c.yml": "$schema: /openshift/cluster-1.yml\nname: c\ntoy: ball\n",
    "d.yml": "$schema: /openshift/cluster-1.yml\nname: d\n",
}


def test_a_section_alone_reads_its_documents_and_the_inventory(tmp_path: Path) -> None:
    """Its faults get lines, links are checked by type, and the end sees all findings."""
    toys = toy_section(tmp_path)
    bundle = read_bundle(MemoryTree(FILES), NoCache(), (toys,))
    assert toys.of(bundle) == Toys(("a", "b"), errors=1)
    (finding,) = bundle.findings
    assert (finding.file, finding.line, finding.rule) == ("b.yml", 3, "toy")
    assert bundle.kinds == {"cluster": 2, "toy": 2}


def test_a_type_of_several_sections_is_checked_for_each(tmp_path: Path) -> None:
    """The inventory checks the name of a cluster, and the section its own field."""
    files = {**FILES, "c.yml": "$schema: /openshift/cluster-1.yml\nname: 1\ntoy: 2\n"}
    bundle = read_bundle(MemoryTree(files), NoCache(), (toy_section(tmp_path),))
    wrong = [(each.line, each.path) for each in bundle.findings if each.file == "c.yml"]
    assert wrong == [(2, "name"), (3, "toy")]


def test_more_sections_leave_the_value_of_one_as_it_is(tmp_path: Path) -> None:
    alone = read_bundle(MemoryTree(INVENTORY), NoCache(), (INTEGRATIONS,))
    assert INTEGRATIONS.of(alone) == INTEGRATIONS.of(bundle_of(INVENTORY))


def test_what_was_kept_for_other_sections_is_not_used(tmp_path: Path) -> None:
    """The key of what is kept has the sections and their programs in it."""
    sections = bundle_sections()
    toys = toy_section(tmp_path)
    before = salt_of((toys,))
    assert len({before, salt_of(sections), salt_of((*sections, toys))}) == 3
    (tmp_path / "reader.py").write_text("# another program\n")
    salt_of.cache_clear()
    assert salt_of((toys,)) != before


def test_every_program_that_reads_a_bundle_is_part_of_the_key() -> None:
    """A module that takes part and is not in the key would make an old answer look new."""
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(ROOT.parents[1] / "examples" / "app-interface")],
        capture_output=True,
        text=True,
        check=True,
    )
    counted = set(programs(bundle_sections()))
    loaded = [line.split(" ", 1) for line in run.stdout.splitlines()]
    assert loaded
    missing = [name for name, file in loaded if _counts(Path(file)) and Path(file) not in counted]
    assert missing == []


def _counts(file: Path) -> bool:
    return file.name != "__init__.py" and file.relative_to(ROOT).parts[0] not in AROUND
