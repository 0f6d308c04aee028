# From a Python to a tested library or a running demo; `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
# Tests start hundreds of processes; without bytecode each of them would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# Tried in this order; shims that are there and do not run are passed over.
PYTHONS := python3 python3.13 python3.12 python3.11
# Set any of these on the command line, as in `make demo DEMO_ARGS="--sample 20000"`.
DEMO_ARGS ?=
EXAMPLES_ARGS ?=
PYTEST_ARGS ?=
PYTEST_WORKERS ?= 2
SEEDS ?= 20
SEEDS_ARGS ?=
MUTANTS_ARGS ?=
SOAK_ARGS ?=
BENCH_ARGS ?=

# Newer than pyproject.toml once what that file asks for is installed.
DEMO_STAMP := .venv/.installed-demo
DEV_STAMP := .venv/.installed-dev
DOCS_STAMP := .venv/.installed-docs
COMPILED := hatch_build.py hbase_orm/compiled/_cells.pyx

# As root on Debian or Ubuntu what is missing gets installed; elsewhere it is named.
MAKE_IMAGE = docker/packages.sh jdk maven && docker/engine.sh start && docker/base-image.sh \
    && $(BIN)/python -m hbase_orm.testing.image build

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(DEMO_STAMP) ## load 336,776 real flights into a real HBase and query them
	@docker/packages.sh jdk maven || true # what is missing all the same, the demo names
	$(BIN)/python -m examples.flights $(DEMO_ARGS)

# On the HBase of HBASE_ORM_URL, else on an embedded one. Each drops and makes its own tables.
EXAMPLES := $(basename $(notdir $(filter-out examples/__init__.py examples/program.py, \
    $(wildcard examples/*.py))))

.PHONY: examples
examples: $(DEV_STAMP) ## run every design of row keys as a program that checks itself
	@for example in $(EXAMPLES); do \
	    echo "== $$example"; \
	    $(BIN)/python -m examples.$$example $(EXAMPLES_ARGS); \
	done

.PHONY: test
test: gate test-server test-vectors pytest ## the gate and every test, on a real HBase (Docker if possible)

.PHONY: gate
gate: $(DEV_STAMP) ## format, lint, types, layers and names; no other test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/unit/test_architecture.py

.PHONY: pytest
pytest: $(DEV_STAMP) ## every test, without the gate
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadgroup $(PYTEST_ARGS)

.PHONY: vectors
vectors: $(DEV_STAMP) ## what the real Java classes encode, for the codecs' tests; needs Maven once
	$(BIN)/python -m tests.vectors.generator

# Without them their tests are skipped, or fail with HBASE_ORM_REQUIRE_VECTORS=1.
.PHONY: test-vectors
test-vectors: $(DEV_STAMP)
	@$(BIN)/python -m tests.vectors.generator || [[ "$${HBASE_ORM_REQUIRE_VECTORS:-}" != 1 ]]

.PHONY: model
model: $(DEV_STAMP) ## every interleaving and crash of the index protocol
	$(BIN)/python -m tests.model.proof

.PHONY: soak
soak: test-server ## the full number of random cases; takes long
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest -m "soak or hbase" --timeout 3600 $(SOAK_ARGS)

# The random tests that need no HBase; SEEDS_ARGS may name some of them instead.
RANDOM_TESTS := tests/property $(shell grep -lE '^from hypothesis|RandomSalt' -r --include='test_*.py' tests/unit tests/behaviour)

.PHONY: seeds
seeds: $(DEV_STAMP) ## the random tests that need no HBase, SEEDS times, each time with other seeds
	$(BIN)/python -m tests.support.seed_runs $(SEEDS) -m "not hbase and not soak" \
	    $(or $(SEEDS_ARGS),$(RANDOM_TESTS))

.PHONY: mutants
mutants: $(DEV_STAMP) ## does a test that needs no HBase fail for each of 200 changes of the code?
	nice $(BIN)/python -m tests.mutation.run $(MUTANTS_ARGS)

.PHONY: sanitize
sanitize: $(DEV_STAMP) ## fuzz the compiled reader under the address sanitizer (needs gcc)
	$(BIN)/python -m tests.sanitizer.run $(SANITIZE_ARGS)

.PHONY: pictures
pictures: $(DEV_STAMP) ## draw the pictures of docs/choosing-a-row-key.md, and fill in its figures
	$(BIN)/python docs/pictures/draw_row_keys.py

.PHONY: reference
reference: $(DEV_STAMP) ## write the pages of docs/reference that are made of the code
	$(BIN)/python docs/website/reference_pages.py

.PHONY: docs
docs: $(DOCS_STAMP) ## build the docs site into build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "read it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

.PHONY: bench
bench: $(DEV_STAMP) ## paired benchmarks against plain happybase; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

.PHONY: bench-check
bench-check: $(DEV_STAMP) ## is something slower than in the last results, beyond noise?
	$(BIN)/python -m benchmarks check $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: $(DEV_STAMP) ## what a row costs by rows, columns, buckets, connections; writes SCALE.md
	$(BIN)/python -m benchmarks scale $(BENCH_ARGS)

.PHONY: image
image: $(DEV_STAMP) ## build the dockerized HBase, starting a Docker engine if need be
	@$(MAKE_IMAGE)

# What the tests run on: the image where an engine can be had, else the embedded server, which the
# tests start by themselves. HBASE_ORM_REQUIRE_DOCKER=1 refuses the second.
.PHONY: test-server
test-server: $(DEV_STAMP)
	@if [[ -n "$${HBASE_ORM_TEST_URL:-}" ]]; then \
	    echo "tests use the HBase at HBASE_ORM_TEST_URL"; \
	elif $(MAKE_IMAGE); then \
	    echo "tests use the dockerized HBase"; \
	elif [[ "$${HBASE_ORM_REQUIRE_DOCKER:-}" == 1 ]]; then \
	    echo "no dockerized HBase, and HBASE_ORM_REQUIRE_DOCKER=1 asks for it" >&2; \
	    exit 1; \
	else \
	    echo "tests use the embedded HBase"; \
	    $(BIN)/python -m hbase_orm.testing.image jars || true; \
	fi

.PHONY: clean
clean: ## remove the environment and the caches; stop the Docker engine that make started
	docker/engine.sh stop
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.made:
	@for python in $(PYTHONS); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	        lacking="$$python"; \
	        continue; \
	    fi; \
	    echo "making .venv with $$("$$python" --version) ($$python)"; \
	    "$$python" -m venv .venv; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; \
	    touch $@; \
	    exit 0; \
	done; \
	if [[ -n "$${lacking:-}" ]]; then \
	    echo "$$lacking has no venv module: install it (Debian, Ubuntu: apt-get install python3-venv)" >&2; \
	else \
	    echo "no Python of 3.11 or later runs here; tried: $(PYTHONS)" >&2; \
	fi; \
	exit 1

# SSL_CERT_FILE and the package index are uv's to read from the environment.
$(DEMO_STAMP): .venv/.made pyproject.toml $(COMPILED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[demo]'
	@touch $@

$(DEV_STAMP): .venv/.made pyproject.toml $(COMPILED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]'
	@touch $@ $(DEMO_STAMP)

$(DOCS_STAMP): .venv/.made pyproject.toml $(COMPILED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev,docs]'
	@touch $@ $(DEV_STAMP) $(DEMO_STAMP)
