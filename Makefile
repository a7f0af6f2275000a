# Everything runs in .venv, which is made on first use. Nothing outside this folder is touched, no root is needed.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test lint incidents docs-reference site lock licences sbom clean
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

BIN := .venv/bin
# Many tests wait for a broker: three at a time keep two cores busy. Files in order: long ones come first, short ones fill the end.
JOBS ?= 3
PYTEST_ARGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
export PYTHON

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

demo: .venv/embedded.stamp ## replay the bundled production incident on embedded Kafka and ClickHouse
	$(BIN)/skeletonhunter demo

test: .venv/dev.stamp ## run the whole test suite (JOBS processes at a time)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

lint: .venv/dev.stamp ## formatter, linter, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

incidents: .venv/embedded.stamp ## make the bundled incidents again
	$(BIN)/python examples/incidents/make.py

docs-reference: .venv/embedded.stamp ## write the generated reference pages and JSON Schemas
	$(BIN)/python -m skeletonhunter.reference

site: .venv/docs.stamp ## build the documentation as a site in build/site; a link that leads nowhere is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/site

lock: .venv/dev.stamp ## resolve all dependencies again into requirements.lock and deploy/requirements.lock
	@$(PIP) install --quiet 'uv>=0.9'
	$(BIN)/python -m tests.packaging.supply lock

licences: .venv/dev.stamp ## list the licences of everything that is locked in docs/reference/licences.md
	@$(PIP) install --quiet --editable '.[docs]'
	$(BIN)/python -m tests.packaging.supply licences

sbom: .venv/dev.stamp ## write a bill of materials of the images to build/sbom.cdx.json (CycloneDX)
	$(BIN)/python -m tests.packaging.supply sbom build/sbom.cdx.json

clean: ## remove the environment and everything that was built
	rm -rf .venv build dist .demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# An environment that is broken, unfinished or was moved here from another folder is made anew.
HEALTHY = $(BIN)/python -m pip --version >/dev/null 2>&1 && [ "$$(cat .venv/made-in 2>/dev/null)" = "$(CURDIR)" ]
ifneq ($(shell $(HEALTHY) && echo yes),yes)
.PHONY: .venv/made-in
endif

.venv/made-in: .ci/find-python
	@if $(HEALTHY); then touch $@; else \
	  python=$$(.ci/find-python) || exit 1; \
	  echo "Making .venv with $$python"; \
	  rm -rf .venv && "$$python" -m venv .venv && echo "$(CURDIR)" > $@; fi

.venv/embedded.stamp: .venv/made-in pyproject.toml
	@echo "Installing into .venv (the first time this takes a minute or two)"
	@$(PIP) install --quiet --editable '.[embedded]'
	@touch $@

.venv/dev.stamp: .venv/embedded.stamp
	@echo "Installing the tools for development into .venv"
	@$(PIP) install --quiet --editable '.[embedded,dev]'
	@touch $@

.venv/docs.stamp: .venv/embedded.stamp
	@echo "Installing what the documentation needs into .venv"
	@$(PIP) install --quiet --editable '.[embedded,docs]'
	@touch $@
