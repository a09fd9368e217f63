"""States, fleets and rollouts made from a seed, and what must be true of every decision on them."""

import os

# On a person's machine a tenth or less is run: the same seeds, fewer of them.
IN_CI = os.environ.get("CI", "").lower() == "true"
