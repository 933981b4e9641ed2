# Everything runs in .venv, which the targets make by themselves; `make PYTHON=python3.12 setup` picks another Python.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test check bench bench-report screenshots

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/coexplore/engines/cpu/*.h src/coexplore/engines/cpu/*.cpp)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "coexplore needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/coexplore list | sed -n '/^engines/,/^docs/p' | grep -v '^docs'
	@touch $@

demo: setup
	$(BIN)/coexplore reproduce headline --store demo/runs --out demo

test: setup
	$(BIN)/pytest

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/cuda_speed.py
	$(BIN)/python benchmarks/control_speed.py

bench-report: setup
	$(BIN)/python benchmarks/report.py

# Of the report that STORE makes; needs Debian's chromium and chromium-driver.
STORE ?= results
screenshots: setup
	$(BIN)/python docs/screenshots.py $(STORE)
