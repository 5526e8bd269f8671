# Everyday commands. `make run` and `make test` need python3 with venv, and nothing else. With node
# and npm, `make test` also runs external MCP servers; as root it installs
# Chromium with apt-get, for one test with a browser.

PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 8080
SERVICE_AUDIT ?= .run/service-audit
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --progress-bar on -c constraints.txt

.PHONY: help run serve setup dev node test test-all quick lint types tests format schema catalogue language packages variables attacks bench bench-quick clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/.core ## run the tour: untrusted code under policies/tour.json
	@$(BIN)/caps run examples/tour.py --policy policies/tour.json --audit .run/audit --trail
	@echo
	@$(BIN)/caps audit verify --audit .run/audit

serve: $(VENV)/.service ## serve the HTTP API on loopback, with SQLite and policies/tour.json; prints a token
	@echo "a token for development, for 8 hours:"
	@$(BIN)/caps token --role admin
	@$(BIN)/caps serve --port $(PORT) --policy policies/tour.json --audit $(SERVICE_AUDIT)

setup: $(VENV)/.core ## make .venv and install

dev: $(VENV)/.dev ## the same with what the tests need

node: .venv/node/.installed ## what the tests run on Node.js, if npm is there: MCP servers, its inspector and conformance suite

test: lint types tests ## lint, types and all tests

test-all: ## `make test` on each supported Python that is found
	@$(PYTHON) scripts/python_versions.py --test

quick: lint types ## lint, types and the tests that start no process: under 90 seconds
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -q -n auto --dist worksteal -m "not process"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m caps.security.policies.json_schema --check
	$(BIN)/python scripts/language_page.py --check
	$(BIN)/python scripts/packages_page.py --check
	$(BIN)/python scripts/variable_tables.py --check
	$(BIN)/python scripts/catalogue_page.py --check

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev node
	$(BIN)/pytest -n auto --dist worksteal

format: $(VENV)/.dev ## format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: $(VENV)/.core ## write policies/policy.schema.json
	$(BIN)/python -m caps.security.policies.json_schema

catalogue: $(VENV)/.core ## write docs/catalogue.md
	$(BIN)/python scripts/catalogue_page.py

language: $(VENV)/.core ## write docs/language.md
	$(BIN)/python scripts/language_page.py

packages: $(VENV)/.core ## write docs/packages.md
	$(BIN)/python scripts/packages_page.py

variables: $(VENV)/.core ## write the tables of environment variables in the documents
	$(BIN)/python scripts/variable_tables.py

attacks: $(VENV)/.dev ## update the table of attacks in SECURITY.md
	PYTHONPATH=tests $(BIN)/python -m escape.attack_table

bench: $(VENV)/.bench ## Caps beside its peers: every row, under ten minutes
	$(BIN)/python -m bench

bench-quick: $(VENV)/.bench ## the same with few samples, under a minute
	$(BIN)/python -m bench --quick

clean: ## remove everything that can be made again
	rm -rf $(VENV) .venv-3.* .run build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A Python that was asked for is used, or `make` says why not.
ifeq ($(origin PYTHON),command line)
$(VENV)/.core: | asked
.PHONY: asked
asked:
	@test ! -x $(BIN)/python || $(PYTHON) scripts/python_versions.py --venv $(VENV)
endif

$(VENV)/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) scripts/python_versions.py
	@echo "installing caps into $(VENV); the first time takes a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.service: $(VENV)/.core
	@echo "installing what the service needs"
	$(PIP) -e '.[service]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	@echo "installing the peers that the benchmark runs beside caps"
	$(PIP) -e '.[bench]'
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing what the tests need"
	$(PIP) -e '.[dev]'
	@touch $@

# One copy for all versions of Python. Without npm the tests that need it are skipped, and say so;
# so is that of the browser without Chromium.
.venv/node/.installed: tests/support/node/package.json tests/support/node/package-lock.json
	@mkdir -p .venv/node
	@cp tests/support/node/package.json tests/support/node/package-lock.json .venv/node/
	@if ! command -v chromium >/dev/null && test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium \
		|| { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; }; fi
	@if command -v npm >/dev/null; then \
	    cd .venv/node && npm ci --no-audit --no-fund --loglevel=error && touch .installed; \
	else echo "npm is not installed: the tests that need Node.js are skipped"; fi
