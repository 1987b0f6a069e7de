# Every target works on a fresh clone, and twice in a row.
.DEFAULT_GOAL := help
.PHONY: help install test test-full fuzz check demo docs bench schemas lock release clean

python := .venv/bin/python
# One thread a process: the tests and benchmarks run several processes side by side.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install:  ## make .venv and install everything, pinned (skipped when nothing changed)
	@bash scripts/install.sh

# A file's tests are run by one process, so that what they share is made once. Many tests wait more than
# they compute: four processes keep two cores busy.
test: install  ## run the test suite
	@bash scripts/browser.sh
	@$(python) -m pytest -n 4 --dist loadfile $(ARGS)

test-full: install  ## run the slow tests too
	@bash scripts/browser.sh
	@$(python) -m pytest -n 4 --dist loadfile -m "" $(ARGS)

SECONDS ?= 300
fuzz: install  ## damaged and hostile inputs through every command, for SECONDS (300)
	@$(python) -m tests.fuzz --seconds $(SECONDS) $(ARGS)

check: install  ## lint, formatting and strict types
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy

demo: install  ## a real benchmark on bundled data, then a virtual hour on recordings: 3 minutes
	@bash scripts/demo.sh

docs: install  ## build the site from docs/ into build/site, without a network
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --quiet
	@echo "docs: build/site/index.html"

bench: install  ## measure our own speed against its limits (16 minutes on an idle machine)
	@$(python) -m scripts.bench $(ARGS)

schemas: install  ## write the suite's JSON Schema and table of keys anew, after a setting was changed
	@$(python) scripts/schemas.py

lock:  ## pin the whole tree anew from pyproject.toml (UPGRADE=1: newest versions)
	@bash scripts/lock.sh

release: install  ## build, check and try the wheel of this version; a pushed tag publishes it
	@bash scripts/release.sh

clean:  ## remove .venv, caches and builds; results/ stays
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
