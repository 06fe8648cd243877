# PRISM: `make demo` and `make test` set everything up by themselves.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test setup lint format bench clean

BIN := .venv/bin
ARGS ?=

# Set by a Python of another environment for its children; here it would hide our own libraries.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

setup: ## Build the environment: .venv/, build/, install/ (once; then a moment)
	@bash scripts/setup.sh

demo: setup ## Plan and act on a simulated robot; options with ARGS="--model smollm2-135m"
	@$(BIN)/prism demo $(ARGS)

test: setup lint ## Lint, check types, run all tests; options for pytest with ARGS="-k graph"
	@$(BIN)/python -m pytest $(ARGS)

lint: setup ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: setup ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: setup ## Run every benchmark, one after the other; results in log/bench/
	@mkdir -p log/bench
	@set -e; for file in benchmarks/[!_]*.py; do \
	  echo "== $$file"; $(BIN)/python $$file --json log/bench/$$(basename $$file .py).json $(ARGS); done

clean: ## Remove all that setup and the tools built (not the cached llama.cpp wheel)
	@rm -rf .venv build install log *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
