# Everything stays inside this directory (.venv, var, caches); only pip's own download cache lies elsewhere.

PYTHON ?= python3
VENV := .venv
HOMESERVER := build/homeserver
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Two more than processors, four at most: of a test run, a third of the time is waiting for processes and instants.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -lt 3 ] && echo $$((n + 2)) || echo 4)
unexport PYTHONDONTWRITEBYTECODE  # some containers set it; each of many processes would compile all of us again

.DEFAULT_GOAL := help
.PHONY: help install demo test gate quick coverage format run check bench eval torture browser matrix pictures lock generated clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile

install: $(VENV)/.installed  ## make .venv from the pinned packages

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
		|| { echo "Python 3.11 to 3.14 is needed; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.locked: requirements.lock $(VENV)/.python
	@echo "Installing the pinned packages into $(VENV), once: a minute or two, most of it the network ..."
	@$(PIP) install --require-hashes --no-deps -r requirements.lock  # the lock is complete: pip resolves nothing
	@touch $@

$(VENV)/.installed: pyproject.toml README.md $(VENV)/.locked
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q -j 0 agent channels gateway  # or the first start does: 0.7 s more, and 4 MiB that stay
	@touch $@

demo: install  ## the product in under a minute, offline, against simulated platforms
	$(BIN)/tenk demo

run: install  ## the gateway; the environment or config/ says with what
	$(BIN)/tenk run

test: install  ## every test but the long ones and the house rules, which are `make check`'s
	@echo "Running the tests in $(WORKERS) processes, some four minutes ..."
	$(BIN)/python -m pytest -n $(WORKERS) --ignore tests/house $(ARGS)

gate: install  ## the cases of which make test runs a sample: kills, named points, seeded bugs, hostile texts, generated cases
	EXAMPLES=whole $(BIN)/python -m pytest -n $(WORKERS) -m "gate or hypothesis and not long" $(ARGS)

quick browser matrix-tests: WORKERS := $(shell nproc 2>/dev/null || echo 2)
quick: install  ## the tests without servers and generated cases; another Python: make quick PYTHON=python3.13 VENV=.venv-3.13
	$(BIN)/python -m pytest -q -n $(WORKERS) -k "not postgres" -m "not (hypothesis or gate or long)" tests/unit \
		$(wildcard tests/contract/test_*_store.py tests/contract/test_store_*.py) tests/contract/test_model_contract.py $(ARGS)

coverage: override ARGS += --cov --cov-report=term
coverage: test  ## make test, and the share of branches that it reaches; too small a share fails it

check: install  ## lint, types, import contracts, the documentation as a site, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --config-file config/mkdocs.yml  # into build/site; a broken link fails it
	$(BIN)/python -m pytest -q tests/house

format: install  ## write the code as check wants it
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

bench: install  ## figures beside a bare bot in the same run; where its time goes: make bench ARGS=profile
	$(BIN)/python -m tests.bench $(ARGS)

eval: install  ## the sentences in tests/corpus as the coach reads them without a model, and 30 conversations before a judge
	$(BIN)/python -m tests.evaluation.reader $(ARGS)
	$(BIN)/python -m tests.evaluation.conversations

torture: install  ## hundreds of kills, power loss, seeded bugs
	$(BIN)/python -m pytest -m "long or not long" tests/torture $(ARGS)

browser: install  ## the pages in a real Chromium, where one is installed
	$(BIN)/python -m pytest -n $(WORKERS) -m browser -rs tests/journeys $(ARGS)

matrix: install  ## the channel in distributions/matrix, as a package of its own, against a real homeserver, which it installs
	@$(PYTHON) -m venv $(HOMESERVER)
	@echo "Installing a homeserver into $(HOMESERVER) ..."
	@if $(HOMESERVER)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps \
		--only-binary :all: -r distributions/matrix/tests/homeserver.lock; then $(MAKE) --no-print-directory matrix-tests; \
		else echo "matrix: its homeserver cannot be installed here, passed by"; fi

.PHONY: matrix-tests
matrix-tests:
	@rm -rf build/matrix  # the wheel alone, beside the gateway: its entry points are found there
	@$(PIP) install --no-deps --no-build-isolation --target build/matrix ./distributions/matrix
	PYTHONPATH=$(CURDIR)/build/matrix SYNAPSE_PYTHON=$(CURDIR)/$(HOMESERVER)/bin/python \
		$(BIN)/python -m pytest -n $(WORKERS) -m matrix distributions/matrix/tests $(ARGS)

pictures: install  ## the pictures of the README, taken anew in Chromium
	PICTURES=renew $(BIN)/python -m pytest -m browser -rs tests/journeys/test_readme_pictures.py

generated: install  ## renew what is made of other files: compiled texts, Slack's manifest, the configuration reference
	@for po in $$(find gateway agent channels tests -name "*.po"); do \
		$(BIN)/pybabel --quiet compile --input-file "$$po" --output-file "$${po%.po}.mo" || exit 1; done
	$(BIN)/tenk slack-manifest --config config/gateway.toml > config/slack-manifest.json
	$(BIN)/python -m tests.tools.configuration_page

lock:  ## renew requirements.lock and the homeserver's; needs uv, takes nothing younger than a week
	uv pip compile -q --generate-hashes --no-emit-index-url --no-header --exclude-newer "7 days" \
		--python-version 3.11 --universal --all-extras pyproject.toml -o requirements.lock
	echo matrix-synapse | uv pip compile -q --generate-hashes --no-emit-index-url --no-header --exclude-newer "7 days" \
		--python-version 3.11 --universal - -o distributions/matrix/tests/homeserver.lock

clean:  ## remove what was made, but not var/
	rm -rf .venv .venv-* dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find gateway channels agent tests -name __pycache__ -type d -prune -exec rm -rf {} +
