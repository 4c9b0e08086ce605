# Everything runs in .venv, which the first command makes. PYTHON=... names another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo docs test test-long lint check bench no-tuning fuzz soak soak-serve reproduce wheels clean

demo: $(VENV)/.demo
	$(RUN)/kernelstream demo

# build/site/index.html. A warning is an error; the gallery's examples are run where they have changed. Then its pages are looked at.
docs: $(VENV)/.ready
	$(RUN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/site
	KERNELSTREAM_SITE=build/site $(RUN)/python -m pytest -q -m '' tests/test_site.py

test: $(VENV)/.ready
	$(RUN)/python -m pytest -n auto --dist worksteal

# More cases of what `make test` tries: every law on every kernel and loss of every learner.
test-long: $(VENV)/.ready
	$(RUN)/python -m pytest -n auto --dist worksteal -m long

lint: $(VENV)/.ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

check: lint test

# About 20 minutes on a quiet machine; PARTS="fogd budgets" measures some of it, --help lists them. KERNELSTREAM_DATA as below.
bench: $(VENV)/.ready
	$(RUN)/python -m benchmarks $(PARTS)

# Measures what benchmarks/no_tuning.json lacks, hours for all of it; ONLY="--peers auto --anew" measures auto again, minutes.
# LightGBM and CapyMOA come with pip install '.[peers]', best in an environment of its own: RUN=.../bin names it.
no-tuning: $(VENV)/.ready
	$(RUN)/python -m benchmarks.no_tuning $(ONLY)

# 100,000 mutated model files, rows, data files and command lines; counts are printed, and one that ends badly fails. PARTS="models files".
fuzz: $(VENV)/.ready
	$(RUN)/python -m benchmarks.fuzz $(PARTS)

# 100,000,000 rows through each of ten learners; memory and time a row must stay what they were.
soak: $(VENV)/.ready
	$(RUN)/python -m benchmarks.soak $(PARTS)

# A service that is killed a hundred times, gets 40,000 mutated bodies, a full disk, what schemathesis makes of its interface, and
# two hours of use at a steady pace. PARTS="kills bodies disk interface" leaves the hours (steady) out.
soak-serve: $(VENV)/.ready
	$(RUN)/python -m benchmarks.soak_serve $(PARTS)

# KERNELSTREAM_DATA names the directory with the papers' data. As many row orders as the papers had; ONLY="--runs 5" for fewer,
# ONLY=--stored to judge the results that are kept anew.
reproduce: $(VENV)/.ready
	$(RUN)/kernelstream reproduce all --out docs/reproduction $(ONLY)

# dist/ gets a wheel with compiled code for this Python and its Numba, half an hour; PYTHON=python3.13 VENV=.venv-3.13 for another.
wheels: $(VENV)/.ready
	$(RUN)/python packaging/wheels.py $(PARTS)

clean:
	rm -rf $(VENV) report.html curve.png build docs/api/generated docs/gallery docs/project

$(VENV)/.ready: pyproject.toml | $(RUN)/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

# What the demo needs, not the developers' tools.
$(VENV)/.demo: pyproject.toml | $(RUN)/python
	@test $(VENV)/.ready -nt pyproject.toml || \
		$(RUN)/python -m pip install --disable-pip-version-check --no-compile --editable '.[cli,plot]'
	@touch $@

$(RUN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kernelstream needs Python 3.11 or later; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
