# The product's front door: `make demo` and `make test` do all their own set-up (README.md).
SHELL := bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
BIN := .venv/bin

.PHONY: help setup demo test check format faults corpora fuzz wall calls escape layers evidence bench oracle mutants diagrams pictures stop-engine

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  YES=1 answers yes before a Docker Engine is installed."

setup: ## virtual environment, Docker Engine, sandbox image; leaves alone what is there
	@scripts/setup.sh

demo: setup ## the main job on the embedded default: a scripted model, no key
	@$(BIN)/runner demo

test: ## every test tier, real engine included; ARGS="…" go to pytest
	@scripts/setup.sh --for-tests
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

check: ## format, lint, types, who may import whom
	@scripts/setup.sh --only-venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: ## put the code into ruff's format and fix what ruff can fix
	@scripts/setup.sh --only-venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

faults: ## kills at every arrow, engine, disk, clock, standstill, races: a table that must be all zeros; ARGS="--seed 7"
	@scripts/setup.sh --for-tests
	@$(BIN)/python -m campaigns.faults $(ARGS)

corpora: ## public attack corpora against fence, screen and decision: a table that must be all zeros; needs the package index
	@scripts/setup.sh --only-venv
	@$(BIN)/python -m scripts.corpora
	@$(BIN)/python -m campaigns.corpora --write

fuzz: ## odd requests at a gateway's socket for FUZZ_SECONDS (600); nothing may be found; ARGS=SEED
	@scripts/setup.sh --only-venv
	@$(BIN)/python -m campaigns.fuzz $(ARGS)

wall: setup ## weaken each part of a container's hardening in turn; all must be caught at its start
	@$(BIN)/python -m campaigns.wall

calls: setup ## our list of system calls against this engine's own; ours may let in nothing that it refuses
	@$(BIN)/python -m campaigns.calls

escape: setup ## scripts that try to get out of a container on this machine; says how many did
	@$(BIN)/runner doctor --escape

layers: ## each layer alone, the others off, against what it has to stop; says how many got through
	@scripts/setup.sh --for-tests
	@$(BIN)/python -m campaigns.layers

evidence: ## calls, wall, escape and layers one after another; ARGS="--write-docs [NAME…]" puts them into docs/evidence.md
	@scripts/setup.sh --for-tests
	@$(BIN)/python -m campaigns.evidence $(ARGS)

bench: setup ## each benchmark in benchmarks/, one after another
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

oracle: ## path decisions against a process in a container: CASES=20000 of them, SEED=… to see some again
	@scripts/setup.sh --for-tests
	@ORACLE_CASES=$(or $(CASES),20000) ORACLE_SEED=$(or $(SEED),0) $(BIN)/python -m pytest -s tests/integration/paths

mutants: ## break policy and paths in every small way; docs/mutants.md says which breaks no test notices
	@scripts/setup.sh --only-venv
	@$(BIN)/python -m scripts.mutants $(ARGS)

diagrams: ## what the docs take from the code: states, modules, command line, policy, tools, profiles
	@scripts/setup.sh --only-venv
	@$(BIN)/python -m scripts.make_diagrams
	@$(BIN)/python -m scripts.make_cli_docs
	@$(BIN)/python -m scripts.make_policy_docs
	@$(BIN)/python -m scripts.make_feature_docs
	@$(BIN)/python -m scripts.make_hardening_docs

pictures: ## the pictures and the card of docs/reviewing.md, drawn by the inbox itself
	@scripts/setup.sh --only-venv
	@$(BIN)/python -m scripts.make_pictures

stop-engine: ## end the dockerd that set-up started, never another
	@python3 -m scripts.engine stop
