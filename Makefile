# Everything that a developer or a CI runs. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:

# What the programs of .venv need in front of PATH, because ansible calls its own by name.
RUN := PATH="$(CURDIR)/.venv/bin:$$PATH"

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14

.PHONY: setup
setup: ## install what is missing on this machine, and make .venv
	@scripts/setup.sh

.PHONY: demo
demo: setup ## bring up a lab of four nodes and run the main job on it
	@$(RUN) scripts/demo.sh

.PHONY: test
test: setup ## all checks and tests, with the time of each stage
	@$(RUN) python scripts/stages.py test

.PHONY: test-slow
test-slow: setup ## the long tests: other versions of Python and ansible-core
	@$(RUN) python scripts/stages.py slow

.PHONY: lint
lint: setup ## only the static checks
	@$(RUN) python scripts/stages.py lint

.PHONY: bench
bench: setup ## measure; prints ratios, never a verdict
	@$(RUN) python bench/run.py

.PHONY: bench-judge
bench-judge: setup ## simulate how often the judge is right, and write the table of docs/judge.md
	@$(RUN) python bench/judge.py --write

.PHONY: docs
docs: setup ## make again the pages that are made from the code
	@$(RUN) python scripts/make_docs.py

.PHONY: clean
clean: ## remove what was built here; labs are removed by `trackbed lab down --all`
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build
