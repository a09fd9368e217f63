# Everything Tidegate's developers and first-time users type. Needs Python 3.11+, git and make.

PYTHON    ?= python3
VENV      ?= .venv
ARGS      ?=
SEEDS     ?= 200
STATES    ?= 20000
LOOPS     ?= 1200
UPGRADES  ?= 20
SHARDS    ?= 40
PIPELINES ?= 40
LOCK_ARGS ?=

BIN   := $(VENV)/bin
READY := $(VENV)/.ready
OF    := --integration terraform-resources --environment app-interface-production
REHEARSE := $(BIN)/tidegate simulate examples/app-interface --behaviour examples/behaviour.yaml
DEMO  := $(REHEARSE) $(OF) --image superdangerous --story --pace 600 --why app-sre
POLICIES := $(BIN)/tidegate simulate policies examples/policies.yaml --why prod-07
LIVE := $(BIN)/tidegate simulate page $(foreach each,payments search edge,--scenario examples/demo/$(each).yaml) \
    --upgrades examples/fortnight.yaml --policies examples/demo/policies.yaml --brakes examples/demo/brakes.yaml \
    --bundle examples/app-interface $(OF) --image superdangerous --image f929a38 --behaviour examples/demo/behaviour.yaml \
    --promotions build/demo
FORTNIGHT := $(BIN)/tidegate simulate upgrades examples/fortnight.yaml --save demo.world.json

.DEFAULT_GOAL := help
.SUFFIXES:
.PHONY: help setup demo test check bench e2e image sim fuzz docs lock clean

define HELP
make setup   install Tidegate and its tools into $(VENV) (the other targets do it by themselves)
make demo    the page over simulated fleets that live at speed; nothing leaves this machine
             ARGS=--headless tells it as text, as it does where there is no terminal
make test    every test but the end-to-end ones        ARGS="-k soak"
make check   formatting, lint, types, layers
make bench   how fast it decides                       ARGS=...
make e2e     end to end with the real parts            ARGS=...
make image   the container image, into build/image (as root, on Debian and its kin)
make sim     seeded simulation, all laws at full size  SEEDS=$(SEEDS) STATES=$(STATES) LOOPS=$(LOOPS) UPGRADES=$(UPGRADES) SHARDS=$(SHARDS) PIPELINES=$(PIPELINES)
make fuzz    100,000 hostile documents through every reader of input, some 40 minutes
make docs    regenerate the reference pages
make lock    pin and hash the requirements again       LOCK_ARGS=--upgrade
make clean   remove $(VENV), caches and build output
PYTHON=python3.13 VENV=.venv-3.13 chooses another interpreter and keeps it apart.
endef

help:
	@: $(info $(HELP))

# The stamp holds this folder's path: scripts and the editable install are bound to it, so a checkout
# that was copied or moved sets itself up anew instead of running the code it was copied from.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
endif

NEW_ENOUGH := import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit( \
    "Tidegate needs Python 3.11 or newer and $(PYTHON) is %d.%d: make setup PYTHON=python3.12" % v)

# What commands import: where Python may not write bytecode (PYTHONDONTWRITEBYTECODE), each of them
# would compile it all anew, which takes three times as long as to run it. And what tests import:
# their processes start at the same moment, and each would compile it.
COMPILED := click msgspec yaml typing_extensions.py sqlalchemy alembic aiohttp \
    _pytest hypothesis playwright pygments psycopg coverage anyio cryptography joserfc starlette

$(READY): requirements/uv.txt requirements/dev.txt pyproject.toml
	@log=$$(mktemp) && trap 'rm -f "$$log"' EXIT && start=$$(date +%s); \
	step() { \
	    if "$$@" >>"$$log" 2>&1; then printf '━━'; \
	    else printf ' failed at: %s\n\n' "$$*"; cat "$$log"; exit 1; fi; }; \
	[ "$$(cat $@ 2>/dev/null)" = '$(CURDIR)' ] && made=yes || made=; \
	[ $$made ] || $(PYTHON) -c '$(NEW_ENOUGH)' || exit 1; \
	printf 'setting up '; \
	[ $$made ] || step $(PYTHON) -m venv --clear $(VENV); \
	[ $@ -nt requirements/uv.txt ] || step $(BIN)/python -m pip --disable-pip-version-check \
	    install --require-hashes -r requirements/uv.txt; \
	step $(BIN)/uv pip sync --python $(BIN)/python --require-hashes requirements/dev.txt; \
	step $(BIN)/uv pip install --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	step $(BIN)/python -m compileall -q -j 0 src $(COMPILED:%=$(VENV)/lib/python3*/site-packages/%); \
	printf '%s' '$(CURDIR)' >$@; \
	printf ' %s s (once)\n' $$(( $$(date +%s) - start ))

setup: $(READY)
	@:

# The page, for people at a terminal. Without one, or with --headless: one story in three parts; the
# last ends with what to paste about it, and here is one about the first.
demo: $(READY)
	@if [ -t 1 ] && [ -z '$(filter --headless,$(ARGS))' ]; then $(PAGE); else $(STORY); fi

PAGE = rm -rf build/demo && $(BIN)/python examples/promotion.py build/demo >/dev/null && exec $(LIVE) $(ARGS)
STORY = \
	echo '25 accounts, 40 clusters, 12 integrations, simulated · 1 s = 10 min · nothing leaves this machine' \
	&& $(DEMO) && echo && $(POLICIES) --pace 3600 && echo && $(FORTNIGHT) --pace 86400 \
	&& printf '  %s \\\n    %s\n' '$(REHEARSE)' '$(OF) --image f929a38 --svg demo.svg'

# Two processes more than there are cores: one does little but wait for servers, leases and children
# (tests/strips.py), and the others wait for a fifth of their time.
# Bytecode is written even where a shell forbids it: every process reads thousands of modules.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadgroup \
    -n $$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 2)')

test: $(READY)
	$(PYTEST) -m 'not e2e' $(ARGS)

check: $(READY)
	@failed=; \
	for tool in 'ruff format --check .' 'ruff check .' 'mypy' 'lint-imports --no-logo'; do \
	    printf '\n--- %s\n' "$$tool"; \
	    $(BIN)/$$tool || failed="$$failed [$$tool]"; \
	done; \
	if [ -n "$$failed" ]; then printf '\ncheck: failed:%s\n' "$$failed"; exit 1; fi; \
	printf '\ncheck: all good\n'

# Who asks for the real parts wants to know if one is missing. A Kubernetes, an Open Cluster Management
# hub, a Dex, a Gitea and a helm are built once a machine.
e2e: $(READY)
	@dev/kube/build >/dev/null || :
	@dev/hub/build >/dev/null || :
	@dev/dex/build >/dev/null || :
	@dev/gitea/build >/dev/null || :
	@dev/helm/build >/dev/null || :
	TIDEGATE_REAL=required $(BIN)/python -m pytest -m 'e2e or real' tests $(ARGS)

image: $(READY)
	dev/image/build

# What is drawn, in large numbers; then the laws, crashes and kills at their full sizes.
LARGE := tests/property tests/sim tests/kills tests/engine/test_crashes.py \
    tests/engine/test_upgrade_crashes.py tests/contract/test_alike.py

sim: $(READY)
	$(BIN)/python -m tests.sim --seeds $(SEEDS) --states $(STATES) --loops $(LOOPS) \
	    --upgrades $(UPGRADES) --shards $(SHARDS) --pipelines $(PIPELINES) $(ARGS)
	TIDEGATE_TESTS=full $(PYTEST) $(LARGE)

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

docs: $(READY)
	$(BIN)/python docs/generate.py

# Resolved for every supported Python and platform at once, pinned by hash, naming no index: where
# packages come from is the installing machine's business.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --custom-compile-command 'make lock' $(LOCK_ARGS)

lock: $(READY)
	$(COMPILE) --group pyproject.toml:bootstrap --output-file requirements/uv.txt
	$(COMPILE) pyproject.toml --output-file requirements/runtime.txt
	$(COMPILE) pyproject.toml --extra postgres --constraints requirements/runtime.txt \
	    --output-file requirements/image.txt
	$(COMPILE) pyproject.toml --all-extras --group dev --constraints requirements/runtime.txt \
	    --output-file requirements/dev.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	    .import_linter_cache .coverage .coverage.* htmlcov
