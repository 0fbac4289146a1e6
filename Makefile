# Everything a newcomer needs: `make install`, `make demo` and `make test`.
# Python 3.11 or newer; PYTHON names another one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install setup demo test test-slow lint format docs site bench bench-spark bench-large walks study study-quick lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Into the active virtual environment, or else into one of its own below PREFIX, with a link to the
# command: many systems refuse to install packages beside their own.
PREFIX ?= $(HOME)/.local
OWN := $(PREFIX)/share/countveil
install:  ## install the command: into the active virtual environment, or below PREFIX (~/.local)
	$(PYTHON) -c 'import sys; sys.exit("countveil needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
ifdef VIRTUAL_ENV
	$(PYTHON) -m pip install --quiet --disable-pip-version-check .
else
	$(PYTHON) -m venv $(OWN)
	$(OWN)/bin/python -m pip install --quiet --disable-pip-version-check .
	mkdir -p $(PREFIX)/bin
	ln -sf $(OWN)/bin/countveil $(PREFIX)/bin/countveil
	@echo "Installed $(PREFIX)/bin/countveil. If your shell does not find it, add $(PREFIX)/bin to PATH."
endif

setup: $(STAMP)  ## create .venv and install the pinned dependencies (quick when nothing changed)

# The pins are complete, so nothing is resolved: pip would take the newest release of a package that
# another one asks for with an extra, and then refuse it because it is not pinned.
$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("countveil needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip --quiet --disable-pip-version-check check
	@touch $@

demo: setup  ## publish a made-up census and query it
	$(BIN)/countveil demo

# Compiled modules are kept (hundreds of commands are started), workers do not fight for cores with
# the threads of BLAS; neighbouring tests, which share what they set up, stay together.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test: setup  ## the tests, with their coverage (minutes on two cores)
	$(PYTEST) --dist worksteal -m "not slow" --cov --cov-report=

test-slow: setup  ## the tests that take longer, and property tests with all of their examples
	COUNTVEIL_THOROUGH=1 $(PYTEST) --dist loadgroup -m "slow or hypothesis"

lint: setup  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup  ## let ruff put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup  ## write the reference pages and pictures that are made from the code
	$(BIN)/python -m docs.reference_pages
	$(BIN)/python -m docs.concepts.pictures
	$(BIN)/python -m docs.start.demo_picture

# The site needs the package, whose docstrings it shows, and these tools.
SITE_STAMP := $(VENV)/.installed-site
$(SITE_STAMP): requirements/site.txt $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/site.txt
	@touch $@

site: $(SITE_STAMP)  ## build the documentation as a site in build/site, offline; a broken link fails it
	$(BIN)/python -m docs.site.build
	@echo "Open build/site/index.html"

bench: setup  ## measure publishing beside a copy, answers, groups, the coverage of intervals (minutes)
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.database
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.groups
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.skewed --quick
	$(BIN)/python -m benchmarks.together --quick
	$(BIN)/python -m benchmarks.noised --quick
	$(BIN)/python -m benchmarks.models --quick

bench-spark: setup  ## publishing on a Spark cluster beside Spark's own shuffle (an hour; needs Java)
	$(BIN)/python -m benchmarks.spark

bench-large: setup  ## the speed with 50 million rows (needs 16 GB of memory for the reference)
	$(BIN)/python -m benchmarks.speed --rows 50000000 --csv-rows 0 --times 1 --spill

walks: setup  ## which modules one publish and one query go through
	$(BIN)/python -m benchmarks.walks --list

study: setup  ## the paper's study, what is missing of it (minutes; DATA= a PUMS zip, a CSV or census)
	$(BIN)/python -m study run $(if $(DATA),--data $(DATA))
	$(BIN)/python -m study page

study-quick: setup  ## a small part of the study, in study/quick
	$(BIN)/python -m study run --quick $(if $(DATA),--data $(DATA))

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
  --no-emit-index-url --no-emit-find-links
lock:  ## pin the newest dependencies anew (needs uv)
	$(LOCK) pyproject.toml --group dev --upgrade -o requirements/dev.txt
	$(LOCK) --group site --constraints requirements/dev.txt --upgrade -o requirements/site.txt

clean:  ## remove what make setup and the tests left
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage countveil-demo
