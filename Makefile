# Everything here needs one thing on PATH: a plain Python of 3.11 or newer.
# Each goal does its own set-up, and is quick the second time.
#
#   make demo       render the sample book to demo-out/
#   make test       lint, types and tests
#   make venv       only the set-up, for development
#   make help       the rest

SHELL := /bin/sh
.DEFAULT_GOAL := help

# Relative paths throughout, so that the folder may have spaces in its name.
VENV := .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/.ready-run
DEV := $(VENV)/.ready-dev
ASR := $(VENV)/.ready-asr

SAMPLE ?= examples/the-lamp-at-skerry-head.epub
COUNT = grep -c '^[a-z0-9].*==' $<
DEMO_OUT ?= demo-out
JOBS ?= 2
BOOK ?= $(SAMPLE)
UV_VENV := build/lock-venv

PIP := $(PY) -m pip --disable-pip-version-check
INSTALL_SELF := $(PIP) install --quiet --no-deps --no-build-isolation --no-index --editable .

.PHONY: help
help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

# ---------------------------------------------------------------- set-up

$(PY):
	@found=; for name in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
	  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then found="$$name"; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "make: no Python of 3.11 or newer on PATH; install one, or name it: make PYTHON=/path/to/python3" >&2; \
	  exit 1; fi; \
	echo "Creating $(VENV) with $$found"; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: $$found cannot make a virtual environment; on Debian install python3-venv" >&2; exit 1; }

$(RUN): requirements/base.txt pyproject.toml | $(PY)
	@echo "Installing the $$($(COUNT)) packages that loudr runs on: a minute or two, once"
	@$(PIP) install --quiet --require-hashes -r requirements/base.txt
	@$(INSTALL_SELF)
	@touch $@

$(DEV): requirements/dev.txt pyproject.toml | $(PY)
	@echo "Installing the $$($(COUNT)) packages that loudr is developed with: some minutes, once"
	@$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@$(INSTALL_SELF)
	@touch $(RUN) $@

$(ASR): requirements/asr.txt $(RUN)
	@echo "Installing the speech recogniser and its model: some minutes, once"
	@$(PIP) install --quiet --require-hashes -r requirements/asr.txt
	@touch $@

.PHONY: venv
venv: $(DEV)  ## create .venv with everything for development

# ---------------------------------------------------------------- use

.PHONY: demo
demo: $(RUN)  ## render the sample book, about a minute
	@$(VENV)/bin/loudr render "$(SAMPLE)" -o "$(DEMO_OUT)"

# ---------------------------------------------------------------- checks

.PHONY: lint
lint: $(DEV)  ## style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

.PHONY: unit
unit: $(DEV)  ## tests that need no GPU and no services
	$(PY) -m pytest -n $(JOBS) -m "not gpu and not integration"

.PHONY: integration
integration: $(DEV)  ## a farm of workers, a Prefect and an S3 server on this machine, some minutes
	$(PY) -m pytest -n $(JOBS) --dist loadgroup -m integration tests/integration tests/e2e

.PHONY: test
test: lint unit  ## lint and unit: the gate

.PHONY: sample
sample: $(DEV)  ## rebuild the sample book and its cover from examples/*.md
	$(PY) examples/build_sample.py

# ---------------------------------------------------------------- benches

.PHONY: bench
bench: $(RUN)  ## whole way against the obvious script: make bench BOOK=some.epub
	$(PY) benches/bench_e2e.py "$(BOOK)"

.PHONY: bench-stages
bench-stages: $(RUN)  ## what each stage costs per hour of audio
	$(PY) benches/bench_stages.py "$(BOOK)"

.PHONY: bench-memory
bench-memory: $(RUN)  ## peak memory of all processes together
	$(PY) benches/bench_memory.py "$(BOOK)"

.PHONY: bench-asr
bench-asr: $(if $(M4B),$(ASR))  ## word error rate of a chapter: make bench-asr BOOK=x.epub M4B=x.m4b
	@if [ ! -f "$(M4B)" ]; then \
	  echo "make: name a book and its M4B: make bench-asr BOOK=book.epub M4B=Book.m4b" >&2; exit 2; fi
	$(PY) benches/bench_asr.py "$(BOOK)" "$(M4B)"

# ---------------------------------------------------------------- requirements

# One resolution for every platform and Python from 3.11 on. The resolver reads no local
# configuration, so no mirror, folder or constraint of this machine gets into the files.
COMPILE = ../$(UV_VENV)/bin/uv pip compile --quiet --no-config --universal --generate-hashes \
	--no-header --python-version 3.11 $(LOCK_ARGS)

$(UV_VENV)/.ready: requirements/lock.txt | $(PY)
	@$(PY) -m venv $(UV_VENV)
	@$(UV_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@

.PHONY: lock
lock: $(UV_VENV)/.ready  ## write requirements/*.txt anew; LOCK_ARGS=--upgrade moves the versions
	cd requirements && \
	$(COMPILE) lock.in -o lock.txt && \
	$(COMPILE) ../pyproject.toml build.in --extra dev -o dev.txt && \
	$(COMPILE) ../pyproject.toml build.in -c dev.txt -o base.txt && \
	$(COMPILE) ../pyproject.toml build.in --extra asr -c dev.txt -o asr.txt && \
	$(COMPILE) ../pyproject.toml build.in gpu.in --excludes gpu-excludes.in -c base.txt -o gpu.tmp && \
	cat gpu-head.in gpu.tmp > gpu.txt && rm gpu.tmp

.PHONY: clean
clean:  ## remove what was built, not what was rendered
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
