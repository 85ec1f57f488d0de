# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: demo test test-slow test-interop lint attack bench docs dist installed clean

demo: .venv/demo
	mkdir -p build
	$(BIN)/rtcvt show toroidal_kers --at theta=0.1
	$(BIN)/rtcvt check toroidal_kers -o build/report.html --json build/check.json
	$(BIN)/rtcvt export toroidal_kers --figures build/check.json -o build/toroidal_kers.fmu
	$(BIN)/rtcvt run build/toroidal_kers.fmu --step 1e-3 --duration 10 --scenario "charge, hold, discharge" -o build/run.h5 --json build/run.json
	@echo
	@echo "The unit is build/toroidal_kers.fmu; open build/report.html to see how far it is from the full model."

# One thread for linear algebra: two workers with two each would wait for one another. Bytecode is kept, which each command
# that a test starts would make anew. First the tests of kernels that are called a few times, as Python.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test: .venv/installed
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "interpreted and not slow" $$(grep -rl --include='test_*.py' mark.interpreted tests)
	$(PYTEST) -m "not slow and not interop and not interpreted"

test-slow: .venv/installed
	$(PYTEST) -m slow

test-interop: .venv/installed
	$(INSTALL) --editable ".[interop]"
	$(BIN)/python -m pytest -m interop

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/sizes.py
	rm -rf build/types && mkdir -p build/types/rtcvt
	@$(BIN)/python tests/mutants.py --list > build/mutants.txt || { grep -v ^once build/mutants.txt; exit 1; }
	ln -s $(CURDIR)/rtcvt/* $(addprefix $(CURDIR)/,fmu hil offline) build/types/rtcvt
	cd build/types && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml

attack: .venv/installed
	$(BIN)/python tests/attacks.py

bench: .venv/installed
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,min,max,rounds

docs: .venv/installed
	$(INSTALL) --editable ".[docs]"
	rm -rf build/docs build/site && mkdir -p build && cp -r docs build/docs
	$(BIN)/python -m sphinx -b html -q --fail-on-warning --keep-going build/docs build/site
	@echo "The site is build/site/index.html."

dist: .venv/installed
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist .

# the main job from an empty environment outside of the checkout, in a folder with files of the packages' former names;
# then what the pages say of each extra, each alone on top of the core
installed: dist
	rm -rf build/installed && mkdir -p build/installed
	$(BIN)/python -m venv build/installed/venv
	build/installed/venv/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$(ls $(CURDIR)/build/dist/*.whl)[offline,hil,native]"
	work=$$(mktemp -d) && cd $$work && touch fmu.py hil.py offline.py && \
	rtcvt=$(CURDIR)/build/installed/venv/bin/rtcvt && \
	$$rtcvt check toroidal_kers -o report.html --json check.json && \
	$$rtcvt export toroidal_kers --figures check.json -o toroidal_kers.fmu && \
	$$rtcvt run toroidal_kers.fmu --duration 2 -o run.h5 && \
	$(CURDIR)/build/installed/venv/bin/python -c "import rtcvt; from rtcvt.kind import load_unit; \
		load_unit('pushbelt_cvt').build(); print(rtcvt.load('planetary').simulate())" && \
	ls -l && rm -r $$work
	$(BIN)/python -m venv build/installed/core
	build/installed/core/bin/python -m pip install --quiet --disable-pip-version-check $(CURDIR)/build/dist/*.whl
	set -e; cd build/installed; core=$$(echo $$PWD/core/lib/python*/site-packages); \
	for extra in core offline hil native data; do \
		if [ $$extra != core ]; then \
			$(abspath $(BIN))/python -m venv $$extra; echo $$core > $$(echo $$extra/lib/python*/site-packages)/core.pth; \
			$$extra/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls $(CURDIR)/build/dist/*.whl)[$$extra]"; \
		fi; \
		mkdir -p tried/$$extra; (cd tried/$$extra; ../../$$extra/bin/python $(CURDIR)/tests/installed.py $$extra); \
	done

# Bytecode is made of what is imported, not of all that is installed: half of the time of pip.
INSTALL := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check

.venv/demo: pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable ".[offline,hil,native]"
	@touch $@

.venv/installed: .venv/demo
	$(INSTALL) --editable ".[dev]"
	@touch $@

clean:
	rm -rf .venv build *.egg-info
