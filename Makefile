# Everything a developer does, by name. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
UV_VERSION := 0.13.9
MANY ?= 25000

VENV := .venv/bin
READY := .venv/.ready
NODE_READY := node_modules/.ready

# The files and folders that hold tests of a mark: to collect all others takes longer than some of these run.
MARKED = $(sort $(patsubst %/conftest.py,%,$(shell grep -rl "mark\.$(1)\b" tests --include "*.py")))

.PHONY: help setup synth up down status demo check test conformance package bench quality breaks erasure site format openapi metrics deploy clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Install what the project needs into .venv (every other target does this first)

$(READY): uv.lock pyproject.toml
	@echo "Installing the locked Python packages into .venv …"
	@test -x $(VENV)/python || $(PYTHON) -m venv .venv
	@test -x $(VENV)/uv || $(VENV)/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(VENV)/uv sync --quiet --frozen --extra aws --extra local
	@touch $@

$(NODE_READY): package-lock.json
	@echo "Installing the CDK command line into node_modules …"
	@npm ci --silent --no-audit --no-fund
	@touch $@

synth: $(READY) ## Synthesize the stack into cdk.out, unless it is current
	@$(VENV)/python -m infra.synth

demo: $(READY) ## Start everything in a temporary folder and show a conversation (FILE=… for your own)
	@$(VENV)/python -m local demo

up: synth ## Start the local cloud with the stack deployed (PORT=4566 STATE=.unsay)
	@$(VENV)/python -m local up

down: $(READY) ## Stop it; its state stays
	@$(VENV)/python -m local down

status: $(READY) ## Say whether it runs
	@$(VENV)/python -m local status

check: $(READY) ## The quick gate for every edit: style, types, arrows, fast tests
	@$(VENV)/ruff check --quiet --output-format concise . && $(VENV)/ruff format --quiet --check .
	@$(VENV)/mypy --no-error-summary
	@mkdir -p build; $(VENV)/lint-imports > build/lint-imports.txt 2>&1 || (cat build/lint-imports.txt; false)
	@$(VENV)/pytest -n 2 $(COVERAGE) -m "not stack and not deploy" --ignore tests/package --ignore tests/infra --ignore tests/local --ignore tests/model --ignore tests/fuzz --ignore tests/isolation

# Every branch of the rules (domain, retrieval, extraction, jobs) is run, or the whole gate fails.
test: COVERAGE := --cov
test: $(READY) $(NODE_READY) synth check ## The whole gate, offline: everything above, the local cloud, the deployed stack, the CDK
	@$(VENV)/pytest -n 2 -m "not stack and not deploy" tests/model tests/fuzz tests/isolation
	@$(VENV)/pytest -m "not stack and not deploy" tests/infra tests/local
	@$(VENV)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m stack $(call MARKED,stack)
	@$(VENV)/pytest -m deploy $(call MARKED,deploy)

conformance: synth ## Try every promise on the deployed product and on a build with six faults; writes docs/conformance.md
	@$(VENV)/python -m tests.conformance

breaks: $(READY) ## Break the code in every way the tests promise to see (ONLY='words of a promise'); takes long
	@$(VENV)/python tools/breaks.py --only "$(ONLY)"

package: $(READY) ## Build the wheel and install it, each extra alone, as a user would (wants the package index)
	@$(VENV)/pytest tests/package

bench: $(READY) ## Measure calls, processor time, latency, cold start: one table, and build/bench.json (ONLY='cpu calls')
	@$(VENV)/python -m tests.bench $(ONLY)

quality: $(READY) ## Measure how well recall finds: one table, and build/quality.json (LOCOMO=… for a file of that form)
	@LOCOMO="$(LOCOMO)" $(VENV)/python -m tests.quality

erasure: synth ## Erase very many memories of one scope on the deployed stack (MANY=25000); takes long
	@UNSAY_ERASED=$(MANY) $(VENV)/pytest -s -m stack tests/stack/test_erasure_of_many.py

site: $(READY) ## Build the documentation into build/site; fails on a link that leads nowhere (wants the package index)
	@$(VENV)/uv run --quiet --isolated --no-project --with-requirements <($(VENV)/uv export --quiet --frozen --only-group site) mkdocs build --quiet --strict

format: $(READY) ## Put the code into shape
	@$(VENV)/ruff check --quiet --fix . ; $(VENV)/ruff format --quiet .

openapi: $(READY) ## Write docs/openapi.json from the code
	@$(VENV)/python -m unsay_core.contracts.openapi > docs/openapi.json

metrics: $(READY) ## Write docs/metrics.md from the code
	@$(VENV)/python -m infra.metrics_page > docs/metrics.md

deploy: $(READY) $(NODE_READY) ## Deploy into your AWS account (see docs/deploy.md)
	@PATH="$(CURDIR)/$(VENV):$$PATH" npx cdk deploy

clean: ## Remove what was built; keeps .venv, node_modules and .unsay
	@rm -rf build cdk.out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
