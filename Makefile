# Each target runs alone on a fresh clone.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# Compiled modules are kept: each command and each test would compile them anew.
export PYTHONDONTWRITEBYTECODE =
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
STACK ?= prod
REPORT ?= report-$(STACK).html

.PHONY: help preview test lint format tools images bench clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# uv installs in seconds what takes pip minutes; where it doesn't run, pip does the same from the same lock.
# The stamp is newer than the lock once everything locked is installed, so a second run costs nothing.
$(VENV)/installed: requirements.lock pyproject.toml
	@echo "== installing the locked dependencies into $(VENV)"
	@start=$$(date +%s); \
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV); \
	{ $(RUN)/python -m pip install --quiet --require-hashes -r requirements-uv.lock && \
	$(RUN)/uv pip install --quiet --python $(RUN)/python --require-hashes -r requirements.lock; } || \
	$(RUN)/python -m pip install --quiet --require-hashes -r requirements.lock; \
	$(RUN)/python -m pip install --quiet --no-deps --no-build-isolation -e . && \
	touch $@ && echo "   done in $$(($$(date +%s) - start)) s"

preview: $(VENV)/installed ## preview STACK (prod) offline and write a report to look at
	@start=$$(date +%s%N); $(RUN)/trainshed preview $(STACK) --report $(REPORT); code=$$?; \
	echo "previewed $(STACK) in $$((($$(date +%s%N) - start) / 1000000)) ms"; exit $$code

test: $(VENV)/installed ## run every test this machine can run, and say what was left out
	@start=$$(date +%s); $(RUN)/python -m pytest -n 2 --dist loadgroup; code=$$?; \
	echo "tests took $$(($$(date +%s) - start)) s"; exit $$code

lint: $(VENV)/installed ## ruff, pyright and the format check
	@start=$$(date +%s); $(RUN)/ruff check . && $(RUN)/ruff format --check . && $(RUN)/pyright; code=$$?; \
	echo "lint took $$(($$(date +%s) - start)) s"; exit $$code

format: $(VENV)/installed ## format and mend what ruff can
	@$(RUN)/ruff format . && $(RUN)/ruff check --fix .

tools: $(VENV)/installed ## build or find the live tools (Pulumi CLI, API server, schedulers ...) in a cache
	@start=$$(date +%s); $(RUN)/python tools/build.py && $(RUN)/python tools/torch_environment.py && $(RUN)/python -m policies.external_tools.install; code=$$?; \
	echo "tools took $$(($$(date +%s) - start)) s"; exit $$code

# REGISTRY is the account's: base images come through its pull-through cache.
images: ## build the workload images where Docker is: make images REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com
	@command -v docker > /dev/null || { echo "docker is not on this machine: install it, or build workload/images/*.Dockerfile elsewhere"; exit 3; }
	@test -n "$(REGISTRY)" || { echo "say which registry: make images REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com"; exit 2; }
	@for file in workload/images/*.Dockerfile; do \
		name=$$(basename $$file .Dockerfile); echo "== $$name"; docker build --file $$file --build-arg REGISTRY=$(REGISTRY) --tag trainshed-$$name:dev . || exit 1; done

bench: $(VENV)/installed ## print the figures of every benchmark
	@for file in bench/*.py; do echo "== $$file"; $(RUN)/python $$file || exit 1; done

clean: ## remove what the targets made in the checkout
	rm -rf $(VENV) build dist *.egg-info report*.html .pytest_cache .ruff_cache .hypothesis
