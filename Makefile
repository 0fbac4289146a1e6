# Everything a newcomer needs: `make install`, `make demo` and `make test`.
# Python 3.11 or newer; PYTHON names another one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install setup demo app test test-slow test-long test-browser test-faults mutants lint format docs screens site bench bench-app bench-spark bench-large bench-scale walks study study-quick wheelhouse release-check assets lock clean
# Two targets must not install into one environment at the same time.
.NOTPARALLEL:

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Into the active virtual environment, or else into one of its own below PREFIX, with a link to the
# command: many systems refuse to install packages beside their own.
PREFIX ?= $(HOME)/.local
OWN := $(PREFIX)/share/countveil
install:  ## install the command: into the active virtual environment, or below PREFIX (~/.local)
	$(NEEDS_PYTHON)
ifdef VIRTUAL_ENV
	$(PYTHON) -m pip install --quiet --disable-pip-version-check .
else
	$(PYTHON) -m venv $(OWN)
	$(OWN)/bin/python -m pip install --quiet --disable-pip-version-check .
	mkdir -p $(PREFIX)/bin
	ln -sf $(OWN)/bin/countveil $(PREFIX)/bin/countveil
	@echo "Installed $(PREFIX)/bin/countveil. If your shell does not find it, add $(PREFIX)/bin to PATH."
endif

# Every target needs a set of pins: the extra or the dependency group of that name in pyproject.toml.
# requirements/NAME.txt is what it adds to runtime.txt, requirements/dev.txt is everything together,
# and $(VENV)/.NAME is the stamp of what was installed. For a new set: the group in pyproject.toml, its
# name here, `make lock`, and `target: $(VENV)/.NAME`.
EXTRA_SETS := app dask excel models pandas polars postgres spark stat study
GROUP_SETS := build format lint site browser bench bench-spark
RUNTIME := $(VENV)/.runtime

setup: $(VENV)/.dev  ## create .venv with everything for development (quick when nothing changed)

# Modules are compiled when they are first imported, and kept: hardly a tenth of what is installed is
# ever used.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# The pins are complete, so nothing is resolved: pip would take the newest release of a package that
# another one asks for with an extra, and then refuse it because it is not pinned.
PINNED := --no-deps --require-hashes --no-compile
NEEDS_PYTHON := $(PYTHON) -c 'import sys; sys.exit("countveil needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'

# The environment follows PYTHON: another version makes it anew. (The time of the interpreter itself says
# nothing: it is a link.)
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
BASE := $(VENV)/.python-$(or $(VERSION),unknown)
$(BASE):
	$(NEEDS_PYTHON)
	test -x $(BIN)/python$(VERSION) || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUNTIME): requirements/runtime.txt requirements/build.txt pyproject.toml $(BASE)
	$(PIP) install $(PINNED) -r requirements/runtime.txt -r requirements/build.txt
	$(PIP) install --no-deps --no-build-isolation --no-compile -e .
	$(PIP) check
	@touch $@

$(VENV)/.%: requirements/%.txt $(RUNTIME)
	$(PIP) install $(PINNED) -r $<
	$(PIP) check
	@touch $@

demo: $(RUNTIME)  ## publish a made-up census and query it
	$(BIN)/countveil demo

app: $(VENV)/.app  ## the web app, with a made-up census to publish and a release to ask
	test -f countveil-demo/census.parquet || $(BIN)/countveil demo
	$(BIN)/countveil app --root countveil-demo

# Compiled modules are kept (hundreds of commands are started), workers do not fight for cores with
# the threads of BLAS; neighbouring tests, which share what they set up, stay together.
# WORKERS is their number (that of the cores), SLOWEST=10 lists the ten slowest tests.
WORKERS ?= auto
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) \
  $(if $(SLOWEST),--durations=$(SLOWEST))

test: $(VENV)/.dev  ## the fast tests, with their coverage (WORKERS=, SLOWEST=)
	COUNTVEIL_LINES=1 $(PYTEST) --dist worksteal -m "not slow and not long and not browser and not faults" --cov --cov-report=

test-slow: $(VENV)/.dev  ## the tests that take longer, and property tests with all of their examples
	COUNTVEIL_THOROUGH=1 $(PYTEST) --dist loadgroup -m "(slow or hypothesis) and not long and not browser and not faults"

test-long: $(VENV)/.dev  ## the largest simulations and most cases of long lists, which nothing shortens
	COUNTVEIL_THOROUGH=1 $(PYTEST) --dist loadgroup -m "long and not browser and not faults"

test-browser: $(VENV)/.browser  ## the web app in a real browser (Chromium; installed where it may be)
	$(BIN)/python -m tools.browser
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m browser tests/web/browser

# A sample of faults for every command; COUNTVEIL_FAULTS=all tries every one of them, for hours.
test-faults: $(VENV)/.dev  ## calls of the system that fail, kills and signals, in every command that writes (WORKERS=)
	$(PYTEST) --dist worksteal -m faults tests/faults

# What was noticed is remembered in build/, and tried again only where something changed.
mutants: $(VENV)/.dev  ## plant mistakes in a copy of our code, one by one: do the tests notice, and the audit?
	$(BIN)/python -m tools.mutants $(MUTANTS)
	$(BIN)/python -m tools.mutants --audit $(MUTANTS)

lint: $(VENV)/.lint  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.format  ## let ruff put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(RUNTIME)  ## write the reference pages and pictures that are made from the code
	$(BIN)/python -m docs.reference_pages
	$(BIN)/python -m docs.concepts.pictures
	$(BIN)/python -m docs.start.demo_picture

screens: $(VENV)/.browser  ## take the pictures of the app in its guide anew (needs Chromium)
	$(BIN)/python -m tools.browser
	$(BIN)/python -m docs.guides.app_pictures

site: $(VENV)/.site  ## build the documentation as a site in build/site; a broken link fails it
	$(BIN)/python -m docs.site.build
	@echo "Open build/site/index.html"

bench: $(VENV)/.bench  ## measure publishing beside a copy, answers, groups, the coverage of intervals (minutes)
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.database
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.groups
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.skewed --quick
	$(BIN)/python -m benchmarks.together --quick
	$(BIN)/python -m benchmarks.noised --quick
	$(BIN)/python -m benchmarks.models --quick

bench-app: $(VENV)/.app  ## what the app takes to start, and to answer
	$(BIN)/python -m benchmarks.app

bench-spark: $(VENV)/.bench-spark  ## publishing on a Spark cluster beside Spark's own shuffle (an hour; needs Java)
	$(BIN)/python -m benchmarks.spark

bench-large: $(RUNTIME)  ## the speed with 50 million rows (needs 16 GB of memory for the reference)
	$(BIN)/python -m benchmarks.speed --rows 50000000 --csv-rows 0 --times 1 --spill

bench-scale: $(RUNTIME)  ## what a row costs from ten million rows to a billion (takes long)
	$(BIN)/python -m benchmarks.scale

walks: $(RUNTIME)  ## which modules one publish and one query go through
	$(BIN)/python -m benchmarks.walks --list

study: $(VENV)/.study  ## the paper's study, what is missing of it (minutes; DATA= a PUMS zip, a CSV or census)
	$(BIN)/python -m study run $(if $(DATA),--data $(DATA))
	$(BIN)/python -m study page

study-quick: $(VENV)/.study  ## a small part of the study, in study/quick
	$(BIN)/python -m study run --quick $(if $(DATA),--data $(DATA))

wheelhouse: $(RUNTIME)  ## a folder to install from without an index (EXTRAS=postgres,stat; PYTHON= of the other side)
	$(BIN)/python -m tools.wheelhouse --to $(or $(TO),wheelhouse) --extras "$(EXTRAS)"

release-check: $(RUNTIME)  ## is this checkout ready to become a version? (DATED=1: the changelog has its day; TO=dist)
	$(BIN)/python -m tools.release_check $(if $(DATED),--dated) $(if $(TO),--to $(TO))

assets: $(RUNTIME)  ## build the web app's scripts from tools/assets (needs node; the results are committed)
	$(BIN)/python -m tools.web_assets

# One version of every package: dev.txt is resolved first and binds the others. No address is written.
COMPILE := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-header --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)
lock:  ## pin dependencies, new ones only or all anew with UPGRADE=1 (needs uv)
	$(COMPILE) --all-extras --group dev -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt -o requirements/runtime.txt
	leave_out=$$(sed -n 's/==.*//p' requirements/runtime.txt | sort -u | sed 's/^/--no-emit-package /'); \
	for name in $(EXTRA_SETS); do \
	  $(COMPILE) -c requirements/dev.txt --extra $$name $$leave_out -o requirements/$$name.txt || exit 1; \
	done; \
	for name in $(GROUP_SETS); do \
	  $(COMPILE) -c requirements/dev.txt --group $$name $$leave_out -o requirements/$$name.txt || exit 1; \
	done

clean:  ## remove what make setup and the tests left
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage countveil-demo wheelhouse build/site
