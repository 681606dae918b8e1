# Everything a fresh machine needs is set up in .venv by whichever target comes first.
# Needed before: Python 3.11 or newer, make, a C library.

# The first that is new enough; looked for only when .venv has to be made.
PYTHON ?= $(or $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  && echo $$python && break; done),python3)
ARGS ?=
# Test files are spread over that many processes, at most, long ones first; each stays whole.
WORKERS ?= 4
# Which edits the night draws: others after each commit, the same for the same one.
DRAW ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
# Where the wheel goes.
DIST ?= dist
BIN := .venv/bin
RUN := $(BIN)/python -m
# Brokers and tests are hundreds of Pythons: each that finds no compiled modules compiles them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup gate test long check chaos kafka lowest newest spark-cluster-test models nightly bench docs wheel lock clean

help:
	@echo 'make gate    the whole gate at tier quick; leaves reports/runs/latest/report.html'
	@echo 'make test    the tests, without the long ones and the chaos scenarios'
	@echo 'make long    tests that take long and guard what changes seldom: counterexamples, proofs, shrinking, samples of edits'
	@echo 'make check   ruff, mypy, generated files, the requirement catalogue'
	@echo 'make chaos   the chaos scenarios on real processes and a real ZooKeeper'
	@echo 'make kafka   releases of Apache Kafka, and their bugs; fetches their jars once, with Maven'
	@echo 'make lowest  the gate with every dependency at its lower bound; fetches those once more'
	@echo 'make newest  the same with the newest of each, and what the extras of the wheel bring is imported'
	@echo 'make spark-cluster-test  a Spark master and two workers as processes: reports and seeds on them, one is killed; the same over Spark Connect'
	@echo 'make models  all models of tier pull_request: some minutes'
	@echo 'make nightly all models, which actions they take, every repair undone, counterexamples on processes, all scenarios at levels 3 and 4, documented commands of many minutes, the suite on its mutants and behind an adapter, edits of specs, core and checks: some three hours'
	@echo 'make bench   control plane, producing, faults, simulator, specs and reports, with targets: some ten minutes'
	@echo 'make docs    the documents as a site in dist/site, readable without a server; fetches MkDocs once'
	@echo 'make wheel   dist/fencepost-VERSION-py3-none-any.whl, for pip in another project; fetches nothing'
	@echo 'make setup   only .venv'
	@echo 'make lock    renew requirements.lock (needs uv)'
	@echo 'make clean   remove what the other targets made'
	@echo 'ARGS=... is passed on, for example: make gate ARGS="--level 0"'

setup: .venv/ready
	@:

.venv/ready: requirements.lock pyproject.toml ci/setup.py
	@$(PYTHON) ci/setup.py

gate: setup
	@$(RUN) fencepost.ci gate --tier quick $(ARGS)

test: setup
	@$(RUN) pytest -n auto --maxprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# Two files at a time, for these tests compute more than they wait.
long: setup
	@$(RUN) pytest -m long -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) fencepost.ci.pages.generated --check
	@$(RUN) fencepost.ci.pages.catalogue_lint

# Two files at a time, for these tests wait more than they compute.
chaos: setup
	@$(RUN) pytest -m chaos -n 2 --dist loadfile $(ARGS)

kafka: setup
	@$(RUN) pytest -m kafka $(ARGS)

lowest: setup
	@$(RUN) fencepost.ci.lowest_versions $(ARGS)

newest: setup
	@$(RUN) fencepost.ci.lowest_versions --newest $(ARGS)

spark-cluster-test: setup
	@$(RUN) pytest -m cluster $(ARGS)

models: setup
	@$(RUN) fencepost.ci check --tier pull_request $(ARGS)

nightly: setup
	@$(RUN) fencepost.ci check --tier nightly $(ARGS)
	@$(RUN) fencepost.ci check --coverage --tier nightly
	@$(RUN) fencepost.ci check --without-repairs
	@$(RUN) fencepost.ci chaos --from-counterexample all
	@$(RUN) pytest -m nightly -n 2
	@$(RUN) fencepost.ci conform selftest
	@$(RUN) fencepost.ci.bench.mutation.specs --nightly --count 50 --seed $(DRAW)
	@$(RUN) fencepost.ci.bench.mutation.seeds --again --check
	@$(RUN) fencepost.ci.bench.mutation.core --count 50 --seed $(DRAW)
	@$(RUN) fencepost.ci.bench.mutation.checks --count 50 --seed $(DRAW)
	@$(RUN) fencepost.ci.bench.reports.agreement
	@$(RUN) fencepost.ci.bench.fuzz --seed $(DRAW)
	@$(RUN) fencepost.ci.lowest_versions
	@$(RUN) fencepost.ci.lowest_versions --newest
	@$(RUN) fencepost.ci conform run --profile core -t 'cmd:$(BIN)/python tests/conformance/adapters/remote/broker_adapter.py'

bench: setup
	@$(RUN) fencepost.ci.bench.control_plane $(ARGS)
	@$(RUN) fencepost.ci.bench.produce
	@$(RUN) fencepost.ci.bench.levels
	@$(RUN) fencepost.ci.bench.control_bodies.metadata_bodies
	@$(RUN) fencepost.ci.bench.quota
	@$(RUN) fencepost.ci.bench.faults
	@$(RUN) fencepost.ci.bench.simulator
	@$(RUN) fencepost.ci.bench.specs
	@$(RUN) fencepost.ci.bench.reports.speed 1000000
	@if command -v go >/dev/null; then $(RUN) fencepost.ci.bench.peers.porcupine; \
	  else echo 'bench: no go on the PATH, so porcupine is left out'; fi

docs: setup
	@$(RUN) pip --disable-pip-version-check --quiet install --require-hashes -r ci/site/requirements.lock
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet -f ci/site/mkdocs.yaml
	@$(RUN) fencepost.ci.site.built_links dist/site

wheel: setup
	@$(RUN) hatchling build -t wheel -d $(DIST)

lock:
	@command -v uv >/dev/null || { echo 'lock: uv is not on the PATH; install it first' >&2; exit 3; }
	uv pip compile pyproject.toml --extra dev --extra connect --extra containers --extra kafka --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --upgrade --output-file requirements.lock
	uv pip compile --group docs --constraint requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --upgrade --output-file ci/site/requirements.lock

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .fencepost dist reports/runs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
