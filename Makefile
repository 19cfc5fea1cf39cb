# Both main targets need Python 3.11 or newer, git and make, and nothing else.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
DOCS_VENV := .venv-docs
export PYTHONDONTWRITEBYTECODE =  # else each process that tests reads and rewrites all of them anew: ten seconds

.PHONY: run test test-quick bench eval compiled lint docs docs-site clean

run: $(STAMP)  ## the main job: a real Claude CLI, watched over, against a scripted model
	$(VENV)/bin/chaperon demo

test: $(STAMP)
	$(VENV)/bin/python -m pytest --numprocesses=4 --dist=worksteal  # most tests wait for processes of their own

LONG = contract end_to_end kill packaging

test-quick: $(STAMP)  ## while working: no real CLI, nothing slow, and folders that have nothing else are not read
	$(VENV)/bin/python -m pytest --numprocesses=4 --dist=worksteal -m "not real_cli and not slow" $(LONG:%=--ignore=tests/%)

bench: $(STAMP)
	$(VENV)/bin/python -m tests.bench

eval: $(STAMP)  ## the step reviewer on collected commands; CORPUS names their directory
	$(VENV)/bin/python -m tests.eval $(CORPUS)

COMPILED = monitors interventions supervisor/core supervisor/protocol simulation supervisor/runtime/test_state_files.py

compiled: $(STAMP)  ## reviewer and core, compiled by mypyc in some minutes: their tests, and their speed beside the pure form
	rm -rf build/compiled
	$(VENV)/bin/python hatch_build.py build/compiled
	$(VENV)/bin/python -m pytest --numprocesses=2 -o pythonpath="build/compiled ." $(COMPILED:%=tests/%)
	$(VENV)/bin/python -m tests.bench --only compiled

lint: $(STAMP)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

docs: $(STAMP)  ## build what is generated: parts of the documentation, the tables of the reviewer's knowledge
	$(VENV)/bin/python -m tests.knowledge --write
	$(VENV)/bin/python -m tests.docs --write

docs-site: $(DOCS_VENV)/.installed  ## the pages of docs/ as a site in site/; a wrong link is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --clean  # with --quiet, wrong links are no error

$(DOCS_VENV)/.installed: requirements-docs.txt  # an environment of its own: nothing of it is needed to run or to test
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

$(STAMP): requirements.txt requirements-dev.txt pyproject.toml hatch_build.py supervisor/runtime/sandbox/entry.c
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(VENV) $(DOCS_VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
