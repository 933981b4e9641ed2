# Everything runs in .venv, which the targets make by themselves; `make PYTHON=python3.12 setup` picks another Python.
SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check install --constraint constraints.txt
DOTS := awk '/Collecting|started|still running/ {printf "."; fflush()} /^Installing collected/ {printf " unpacking"; fflush()} END {print ""}'

.PHONY: setup demo test cluster-test kernels learning bits goldens fuzz check newest bench bench-report bench-store screenshots \
	extremes faults docs notebooks notebooks-test wheel

setup: .venv/ready
	@$(BIN)/python .ci/ready.py

.venv/ready: pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/coexplore/engines/cpu/*.h src/coexplore/engines/cpu/*.cpp)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "coexplore needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@echo "1. an environment in .venv ($$($(PYTHON) --version))"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@echo "2. coexplore with its C++ engine, and what it needs, in the tested versions: dots for a few minutes"
	@set -o pipefail; $(PIP) --editable '.[dev]' | $(DOTS)
	@touch $@

demo: .venv/ready
	$(BIN)/coexplore demo

test: .venv/ready
	$(BIN)/pytest

# A real Ray cluster of two nodes on this machine, one of which is lost: about three minutes.
cluster-test: .venv/ready
	$(BIN)/pytest -n 0 -m cluster tests/test_ray.py tests/test_cluster.py

# The fused engines' kernels, on emulated warps and under sanitizers: about a minute.
kernels: .venv/ready
	$(BIN)/pytest -m kernels

# The cpu engine and its binding under sanitizers, at shapes and rates beyond use: about three minutes.
extremes: .venv/ready
	$(BIN)/pytest -n 1 -m extremes

# Every rule learns what it should, on every engine; tables of thousands of runs; further cases: about eight minutes.
learning: .venv/ready
	$(BIN)/pytest -m learning

# The bits of short runs of every variant of every rule, on this machine: the first time they are recorded, before a
# change; after that they are compared, and what moved is named. Six minutes on two cores.
BITS ?= build/bits.json
bits: .venv/ready
	$(BIN)/python tests/bits.py $(if $(wildcard $(BITS)),compare,record) $(BITS)

# Digests of all runs in the repository, verdicts and numbers of all studies, against tests/golden: two minutes.
goldens: .venv/ready
	$(BIN)/python tests/goldens.py compare

# Attacks command lines, files and the C++ engine in two processes, for as long as one likes, and tells what fell.
SECONDS ?= 600
KINDS ?=
fuzz: .venv/ready
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(KINDS)

# Disks that are full, read-only or emptied, and a hundred deaths of two processes that share a study: two minutes.
# It mounts small disks, which one may in a namespace of one's own, and which nobody else sees.
faults: .venv/ready
	unshare --map-root-user --mount $(BIN)/pytest -n 0 -m faults tests/test_disks.py tests/test_study.py -rP

check: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The site, from docs/ into site/: open site/index.html. What it needs is installed once.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site: site/index.html; to search in it, python -m http.server --directory site"

.venv/docs: .venv/ready
	@echo "what the site and the notebooks need"
	@set -o pipefail; $(PIP) 'coexplore[docs]' | $(DOTS)
	@touch $@

# Executes the tutorials and keeps what they print and draw: about three minutes.
notebooks: .venv/docs
	rm -rf docs/tutorials/runs
	$(BIN)/jupyter execute --inplace docs/tutorials/*.ipynb

# The same at a tenth of the length, and the site: about two minutes.
notebooks-test: .venv/docs
	$(BIN)/pytest -m docs

# An archive and a wheel in dist/, and the wheel tried in an environment of its own.
wheel: .venv/ready
	.ci/wheel $(PYTHON)

# A selection of the tests as somebody meets us who installs today: the newest Python here, and the newest jax it has.
NEWEST ?= $(shell for v in 14 13 12; do for p in python3.$$v "$$(pyenv root 2>/dev/null)"/versions/3.$$v*/bin/python3; do \
	"$$p" -c "" 2>/dev/null && echo "$$p" && exit; done; done; echo $(PYTHON))

newest: .venv-newest/ready
	.venv-newest/bin/pytest tests/test_engines.py tests/test_architecture.py \
		'tests/test_oracle.py::test_one_update_is_the_algorithm_box[boltzmann paper]'

.venv-newest/ready: pyproject.toml CMakeLists.txt $(wildcard src/coexplore/engines/cpu/*.h src/coexplore/engines/cpu/*.cpp)
	$(NEWEST) -m venv --clear .venv-newest
	.venv-newest/bin/pip install --quiet --disable-pip-version-check --editable . pytest pytest-xdist beartype
	@.venv-newest/bin/python -c 'import jax, sys; print("jax", jax.__version__, "on Python", sys.version.split()[0])'
	@touch $@

bench: .venv/ready
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/act.py
	$(BIN)/python benchmarks/cuda_speed.py
	$(BIN)/python benchmarks/control_speed.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/snapshots.py

# A store of 100,000 runs (about 4 GB for a few minutes).
bench-store: .venv/ready
	$(BIN)/python benchmarks/store.py

bench-report: .venv/ready
	$(BIN)/python benchmarks/report.py

# Of the report that STORE makes; needs Debian's chromium and chromium-driver.
STORE ?= results
screenshots: .venv/ready
	$(BIN)/python docs/screenshots.py $(STORE)
