# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: demo test test-slow test-interop lint bench clean

demo: .venv/installed
	mkdir -p build
	$(BIN)/rtcvt show toroidal_kers --at theta=0.1
	$(BIN)/rtcvt check toroidal_kers -o build/report.html --json build/check.json
	$(BIN)/rtcvt export toroidal_kers --figures build/check.json -o build/toroidal_kers.fmu
	$(BIN)/rtcvt run build/toroidal_kers.fmu --step 1e-3 --duration 10 --scenario "charge, hold, discharge" -o build/run.h5 --json build/run.json
	@echo
	@echo "The unit is build/toroidal_kers.fmu; open build/report.html to see how far it is from the full model."

test: .venv/installed
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-slow: .venv/installed
	$(BIN)/python -m pytest -m slow

test-interop: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[interop]"
	$(BIN)/python -m pytest -m interop

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,min,max,rounds

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

clean:
	rm -rf .venv build *.egg-info
