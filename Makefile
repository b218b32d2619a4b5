# The project's commands; `make` alone lists them.
# Works with GNU make 3.81 and any POSIX shell.

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all lint bench lock clean environment

# The interpreter for the environment; empty: the first one that fits.
PYTHON ?=
# The folder that the demo writes to; empty: the default of the demo.
WORKDIR ?=
TESTS ?= tests
UV ?= uv
# Two processes on two cores: more threads would wait for each other.
PYTEST = OMP_NUM_THREADS=1 .venv/bin/python -m pytest -q -n 2 \
  --dist loadgroup --durations 10

# The caller's Python settings must not affect the environment.
unexport PYTHONHOME PYTHONOPTIMIZE PYTHONPATH PYTHONSAFEPATH PYTHONUSERBASE
unexport PYTHONWARNINGS PIP_PREFIX PIP_PYTHON PIP_TARGET PIP_USER
unexport TF_USE_LEGACY_KERAS
export KERAS_BACKEND := tensorflow

CANDIDATES = $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11)
# Prints the version of an interpreter that can build the environment.
PROBE = import ensurepip, platform, sys, venv; \
  version = sys.version_info[:2]; \
  mac = sys.platform == "darwin"; \
  fits = not mac or platform.machine() == "arm64"; \
  fits = fits and (3, 11) <= version <= (3, 13); \
  print(*version, sep=".") if fits else sys.exit(1)

help: ## List these commands.
	@awk -F ':.*## ' \
	  '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: environment ## Train, evaluate, draw, export and serve (WORKDIR=folder).
	@.venv/bin/python -m trainers.demo \
	  $(if $(WORKDIR),--workdir "$(WORKDIR)")

test: environment ## Run the tests except the slow ones (TESTS=file or folder).
	@$(PYTEST) -m "not slow" $(TESTS)

test-all: environment ## Run every test, the slow ones too (TESTS=...).
	@$(PYTEST) $(TESTS)

lint: environment ## Check style, formatting, imports and types.
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/lint-imports --no-cache --no-logo
	@.venv/bin/python -m mypy
	@.venv/bin/python -m tools.readme_types

docs: environment ## Build the documentation site into site/, strictly.
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict --quiet \
	  --clean
	@echo "site/index.html"

# The libraries that are compared have an environment of their own.
BENCH_REQUIREMENTS = requirements.lock benchmarks/requirements.txt
BENCH_PIP = .venv-bench/bin/python -m pip install --quiet --no-input \
  --disable-pip-version-check

bench: environment ## Measure speed beside other libraries, two hours.
	@cat $(BENCH_REQUIREMENTS) | cmp -s - .venv-bench/requirements.txt || { \
	  echo "Building .venv-bench: about 3 GB, some minutes."; \
	  .venv/bin/python -m venv --clear .venv-bench \
	  && $(BENCH_PIP) --require-hashes -r requirements.lock \
	  && $(BENCH_PIP) -r benchmarks/requirements.txt \
	  && cat $(BENCH_REQUIREMENTS) > .venv-bench/requirements.txt; }
	@.venv-bench/bin/python -m benchmarks.speed

lock: ## Resolve requirements.lock again (UPGRADE=1: newest versions).
	@command -v "$(UV)" >/dev/null || { \
	  echo "make lock needs uv: install it or give its path, UV=..." >&2; \
	  exit 1; }
	"$(UV)" pip compile setup.py --extra hdf5 --extra dev \
	  --universal --python-version 3.11 --fork-strategy fewest \
	  --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock" --quiet \
	  $(if $(UPGRADE),--upgrade) --output-file requirements.lock

clean: ## Remove the environment and everything built; runs are kept.
	rm -rf .venv .venv-bench build dist site *.egg-info .hypothesis \
	  .pytest_cache .ruff_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The last step of building .venv copies requirements.lock into it. The
# environment is built again if this copy differs, or if its interpreter does
# not run. The package is installed in editable form, so it can be imported from
# any folder; .venv/checkout names the checkout that is installed. Python
# compiles a module when it is first imported: two thirds of them never are.
environment:
	@version() { "$$1" -c '$(PROBE)' 2>/dev/null; }; \
	ready() { \
	  cmp -s requirements.lock .venv/requirements.lock \
	  && version .venv/bin/python >/dev/null; \
	}; \
	editable() { \
	  [ -x .venv/bin/embeddings-tf ] \
	    && [ "$$(cat .venv/checkout 2>/dev/null)" = "$(CURDIR)" ] && return 0; \
	  .venv/bin/python -m pip install --quiet --no-input \
	    --disable-pip-version-check --no-index --no-deps \
	    --no-build-isolation --editable . \
	  && echo "$(CURDIR)" > .venv/checkout; \
	}; \
	if [ -z "$(PYTHON)" ] && ready; then editable; exit $$?; fi; \
	for python in $(CANDIDATES) ""; do \
	  if version "$$python" >/dev/null; then break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "No Python 3.11-3.13 (arm64 on macOS) with venv found;" \
	    "name one with PYTHON=/path/to/python." >&2; \
	  exit 1; \
	fi; \
	wanted=$$(version "$$python"); \
	if ready && [ "$$(version .venv/bin/python)" = "$$wanted" ]; then \
	  editable; exit $$?; \
	fi; \
	echo "Building .venv with Python $$wanted: about 2 GB, some minutes."; \
	"$$python" -m venv --clear .venv \
	&& .venv/bin/python -m pip install --quiet --no-input --no-compile \
	  --disable-pip-version-check --require-hashes -r requirements.lock \
	&& editable \
	&& cp requirements.lock .venv/requirements.lock
