# Everything one does here; `make` lists it. ARGS="…" reaches the program behind a command.
PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
RUN := .venv/.run-is-installed
DEV := .venv/.dev-is-installed
NPM := .cache/npm/.is-installed
INSTALLER := pyproject.toml tools/install.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check check-types check-style check-tree format docs lock clean

help: ## list these commands
	@awk -F ':[^#]*## ' '/^[a-z%-]+:.*## / {sub("%", "NAME", $$1); printf "  make %-15s %s\n", $$1, $$2}' Makefile
	@printf '\n  benchmarks: %s\n  campaigns:  %s\n' \
	  "$(patsubst bench/%/__main__.py,bench-%,$(wildcard bench/*/__main__.py))" \
	  "$(patsubst tests/campaigns/%/__main__.py,campaign-%,$(wildcard tests/campaigns/*/__main__.py)) \
	  $(patsubst tests/campaigns/%.py,campaign-%,$(filter-out %/__init__.py tests/campaigns/test_%,$(wildcard tests/campaigns/*.py)))"

run: $(RUN) ## install what is needed and start the hub
	@exec $(BIN)/limen serve $(ARGS)

test: $(DEV) $(NPM) check ## install what tests need, then run every check and every test
	$(BIN)/python -m pytest --ignore=tests/arch $(ARGS)

check: $(DEV) ## format, lint, types, import contracts and architecture, without running Limen
	@$(MAKE) --no-print-directory --output-sync --jobs=3 check-types check-style check-tree

check-types:
	$(BIN)/basedpyright

check-style:
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

check-tree:
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest --quiet tests/arch

format: $(DEV) ## write the code in the house's format and mend what can be mended by itself
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

docs: $(DEV) ## write the reference of commands and settings anew
	$(BIN)/python -m tools.reference

lock: $(DEV) ## choose and pin new versions of everything that is installed
	$(BIN)/python -m tools.lock

bench-%: $(DEV) ## measure one thing: bench/NAME
	$(BIN)/python -m bench.$* $(ARGS)

campaign-%: $(DEV) ## torture one thing for minutes: tests/campaigns/NAME
	$(BIN)/python -m tests.campaigns.$* $(ARGS)

clean: ## remove everything that was installed or built
	rm -rf .venv .cache build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +

$(RUN): constraints/run.txt $(INSTALLER)
	@$(PYTHON) tools/install.py run
	@touch $@

$(DEV): constraints/run.txt constraints/dev.txt $(INSTALLER)
	@$(PYTHON) tools/install.py dev
	@touch $@ $(RUN)

# Without them the tests that need them say so at the end; in CI nothing may be missing.
$(NPM): tests/npm/package.json tests/npm/package-lock.json $(DEV)
	@if $(PYTHON) tools/install.py npm; then touch $@; else test "$(CI)" != true; fi
