# Two commands: `make demo` runs the main job, `make test` runs the tests. Each sets up what it needs.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PARITY_VENV := .venv-parity
PARITY_READY := $(PARITY_VENV)/.ready
GOLDEN := tests/metrics/golden/tsb_ad.json
PEERS_VENV := .venv-peers
PEERS_READY := $(PEERS_VENV)/.ready
EMPTY_VENV := .venv-empty
ECOSYSTEMS_VENV := .venv-ecosystems
ECOSYSTEMS_READY := $(ECOSYSTEMS_VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

export OMP_WAIT_POLICY ?= passive
export GOMP_SPINCOUNT ?= 0

.DEFAULT_GOAL := help
.PHONY: help setup demo test check docs perf parity peers ecosystems wheel clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: $(READY) ## create .venv and install CAPS with its development tools

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "CAPS needs $(PYTHON); set PYTHON=/path/to/python>=3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(READY) ## run the main job on simulated telemetry
	$(BIN)/caps demo

test: $(READY) ## run every test
	$(BIN)/python -m pytest -q -n 2

check: $(READY) ## format, lint, types and the fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 -m 'not slow'

docs: $(READY) ## build the site to site/; broken links and missing pages are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "open site/index.html; with the search: $(BIN)/python -m http.server --directory site"

parity: $(READY) $(PARITY_READY) ## compare the metrics with TSB-AD 1.5, refresh the golden numbers, run CAPS inside TSB-AD
	PYTHONPATH=tests $(PARITY_VENV)/bin/python tools/parity/reference.py $(GOLDEN)
	$(BIN)/python -m tools parity-metrics
	OMP_NUM_THREADS=1 $(BIN)/python -m tools parity-adapter

peers: $(PEERS_READY) ## create .venv-peers, in which TSB-AD's own methods run for caps bench

ecosystems: $(ECOSYSTEMS_READY) ## let aeon and sktime check the adapters, in an environment with both
	$(ECOSYSTEMS_VENV)/bin/python -m pytest -q tests/adapters

wheel: $(READY) ## install the wheel with its extra serve into an empty environment, fit, find and serve there
	rm -rf dist $(EMPTY_VENV)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	$(PYTHON) -m venv $(EMPTY_VENV)
	$(EMPTY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		"$$(ls dist/caps_tsad-*.whl)[serve]"
	cd $$(mktemp -d) && $(CURDIR)/$(EMPTY_VENV)/bin/python -P $(CURDIR)/tools/deployment/smoke.py

perf: $(READY) $(PARITY_READY) ## time the metrics against TSB-AD 1.5 and detection, write docs/performance.md (DATA=series in TSB-AD's layout)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools speed-metrics --page docs/performance.md
	$(BIN)/python -m tools speed-detect --page docs/performance.md $(if $(DATA),--data $(DATA))

# TSB-AD needs numpy<2, hence an environment of its own; its metrics need none of its models' packages.
$(PARITY_READY): constraints.txt
	test -x $(PARITY_VENV)/bin/python || $(PYTHON) -m venv $(PARITY_VENV)
	$(PARITY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		'numpy<2' scikit-learn scipy statsmodels
	$(PARITY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps TSB-AD==1.5
	@touch $@

# The models of caps.baselines.peers need these packages and nothing else of TSB-AD's list.
$(PEERS_READY): constraints.txt
	test -x $(PEERS_VENV)/bin/python || $(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		'numpy<2' scikit-learn scipy statsmodels torch torchinfo tqdm einops arch stumpy tslearn
	$(PEERS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps TSB-AD==1.5
	@touch $@

# aeon and sktime hold pandas and numba back, hence an environment of their own.
$(ECOSYSTEMS_READY): pyproject.toml constraints.txt
	test -x $(ECOSYSTEMS_VENV)/bin/python || $(PYTHON) -m venv $(ECOSYSTEMS_VENV)
	$(ECOSYSTEMS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[aeon,sktime]' hypothesis pytest
	@touch $@

clean: ## remove the virtual environments and every cache
	rm -rf $(VENV) .venv-* examples/javascript/node_modules build dist site .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
