"""A process that offers one change and ends, to be killed: `python -m tests.kills.proposing`.

It says `ready` before it begins, so that the killer knows when to count from.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import Proposal
from tidegate.git.client.repository import GitRepository, open_repository
from tidegate.model.errors import StaleError
from tidegate.propose.change import Upto, propose

KEY = "promote-x"
BRANCH = f"tidegate/{KEY}"
TITLE = "promote x"
FILE = "saas.yml"
REFUSED = 3


def changed(repository: GitRepository, base: str) -> Mapping[str, bytes | None]:
    """One line of a file in which others change other lines."""
    ((_, content),) = repository.read(base, [FILE])
    return {FILE: content.replace(b"ref: old", b"ref: new")}


def main(bare: Path, clone: Path) -> None:
    """Offer it; exit 3 if another owner's work is in the way."""
    repository, forge = open_repository(clone), LocalForge(bare)
    proposal = Proposal(title=TITLE, description="old → new", source=BRANCH, target="main")
    print("ready", flush=True)
    try:
        asked = (repository, forge, proposal, lambda base: changed(repository, base))
        done = asyncio.run(propose(*asked, key=KEY, upto=Upto.OPEN))
    except StaleError as error:
        print(error, flush=True)
        sys.exit(REFUSED)
    print(done.committed.value, done.pushed.value, done.requested.value, flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
