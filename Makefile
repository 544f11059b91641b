# The commands of this repository. A stage is quiet on success and leaves its log in target/log.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Two cores are enough to build with and the stages share one target folder: one at a time, in order.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory --no-builtin-rules

export CARGO_TARGET_DIR := $(CURDIR)/target
# MetaMask's kit reports its use otherwise.
export DO_NOT_TRACK := 1

FORGE := ../node_modules/@foundry-rs/forge-linux-amd64/bin/forge
XTASK := cargo run --quiet --locked -p xtask --
STAGE = @tools/stage.sh --record 'make $@' $@ --
NODE_TESTS := $(shell find contracts testdata tests tools -name '*.test.mjs' 2>/dev/null | sort)
FUZZ_CRATE := $(wildcard fuzz/Cargo.toml)

# What a long run depends on: a change below these makes its committed result stale.
FUZZ_SOURCES := fuzz crates/delegation/src crates/delegation/tests/it/fuzz_bodies.rs crates/chain/src/refusal \
  crates/chain/src/refusal.rs crates/chain/tests/it/fuzz_bodies.rs crates/custody/src/afloat.rs crates/custody/src/bequest.rs crates/custody/src/operation.rs \
  crates/custody/src/redemption.rs crates/custody/src/transaction.rs crates/custody/tests/it/fuzz_bodies.rs crates/safety/src crates/safety/tests/it/fuzz_bodies.rs \
  crates/store/src/export.rs crates/store/src/audit.rs crates/store/src/canonical.rs \
  crates/store/tests/it/fuzz_bodies.rs testdata/fuzz
SOAK_SOURCES := tests/e2e/soak.rs crates/bindings/src crates/chain/src crates/custody/src crates/delegation/src \
  crates/safety/src crates/store/src crates/store/tests/it/kills.rs crates/testkit/src contracts/artifacts

##@ Use
.PHONY: demo up
demo: setup contracts binaries devchain-state ## one Golem's life on a local chain; ends by itself
	@target/debug/bardo demo

up: setup contracts binaries devchain-state ## everything there is, running, until Ctrl-C
	@exec target/debug/bardo up

##@ Work
.PHONY: setup test check fmt contracts artifacts snapshots devchain
setup: ## install what the build needs; does nothing the second time
	$(STAGE) tools/setup.sh

test: start ## set up and run every test
	@status=0; $(MAKE) test-stages || status=$$?; $(XTASK) totals || true; exit $$status

check: start ## test, lints, freshness and the proof ledger: what CI runs
	@status=0; $(MAKE) check-stages || status=$$?; $(XTASK) totals || true; exit $$status

fmt: setup ## format Rust and Solidity
	$(STAGE) bash -c 'cargo fmt --all $(if $(FUZZ_CRATE),&& cargo fmt --manifest-path $(FUZZ_CRATE)) && cd contracts && $(FORGE) fmt'

contracts: forge-build artifacts ## build the contracts and their artifacts

artifacts: forge-build ## regenerate contracts/artifacts
	$(STAGE) $(XTASK) artifacts

snapshots: setup contracts binaries devchain-state ## rewrite the named gas figures in contracts/snapshots
	$(STAGE) env BLESS_GAS=1 cargo nextest run --locked -p bardo-e2e gas::

devchain: setup contracts devchain-state ## build the local chain's state, if it is stale

##@ Long runs (their results are committed)
.PHONY: bench fuzz mutants gen-mutants all-mutants soak
bench: setup contracts binaries devchain-state ## benchmarks, as ratios against peers
	@cargo bench --quiet --locked -p bardo-e2e --bench delegation
	@cargo bench --quiet --locked -p bardo-e2e --bench chain
	@cargo bench --quiet --locked -p bardo-e2e --bench store
	@cargo bench --quiet --locked -p bardo-e2e --bench scale

fuzz: setup ## fuzz every target for FUZZ_SECONDS (120) and record the result
	@tools/fuzz.sh $(FUZZ_SOURCES)

mutants: setup contracts binaries devchain-state ## take out each defence, see its test fail, record the result
	@$(XTASK) mutants

gen-mutants: setup contracts devchain-state ## make MUTANTS (20) small mistakes in contracts, drawn by MUTANTS_SEED (0), see tests fail
	@$(XTASK) gen-mutants --sample $(or $(MUTANTS),20) --seed $(or $(MUTANTS_SEED),0)

all-mutants: setup contracts devchain-state ## all of them in files that changed since they were recorded; hours for all files
	@$(XTASK) gen-mutants --record

soak: setup contracts binaries devchain-state ## run for SOAK_SECONDS and record the result
	@mkdir -p target/soak
	@BARDO_KILLS=1000 cargo nextest run --locked --profile soak -p bardo-store kills::
	@target/debug/soak >target/soak/result.json
	@$(XTASK) longrun record soak --sources $(SOAK_SOURCES) --result target/soak/result.json

##@ Stages, in the order of `make check`
.PHONY: start test-stages check-stages fmt-check layers deny longruns forge-build artifacts-check vectors clippy \
  binaries devchain-state forge-test nextest node-test doctest doc package check-demo ledger

# Reports of an earlier run must not count for this one.
start:
	@mkdir -p target contracts/out
	@rm -f target/nextest/ci/junit.xml contracts/out/forge-tests.json target/node-tests.xml
	@: >target/commands.json
	@touch target/check-started

test-stages: setup contracts binaries devchain-state forge-test nextest $(if $(NODE_TESTS),node-test) doctest

check-stages: setup fmt-check layers deny longruns forge-build artifacts-check vectors clippy binaries devchain-state \
  forge-test nextest $(if $(NODE_TESTS),node-test) doctest doc package check-demo ledger

fmt-check: setup ## formatting is what the formatters say
	$(STAGE) bash -c 'cargo fmt --all --check -- --color never $(if $(FUZZ_CRATE),&& cargo fmt --manifest-path $(FUZZ_CRATE) --check -- --color never) && cd contracts && $(FORGE) fmt --check'

layers: ## the crate graph points down
	$(STAGE) $(XTASK) layers

# cargo-deny takes minutes to compile, so a fresh machine runs our reading of the same file; see tools/xtask/src/deny.rs.
deny: ## licences, banned crates and sources
	$(STAGE) bash -c '$(XTASK) deny && if cargo deny --version >/dev/null 2>&1; then cargo deny --offline check bans licenses sources; fi'

longruns: ## the committed long runs ran on these sources
	$(STAGE) $(XTASK) longrun check

forge-build: setup
	$(STAGE) bash -c 'cd contracts && $(FORGE) build'

artifacts-check: forge-build ## the committed artifacts are the built ones
	$(STAGE) $(XTASK) artifacts --check

vectors: setup ## the committed vectors are what their generators give
	$(STAGE) bash -c 'for made in testdata/vectors/*.mjs; do node $$made --check || exit 1; done'

clippy: ## lints
	$(STAGE) cargo clippy --locked --workspace --all-targets --all-features -- -D warnings

# All at once, so that features resolve the same way for each and dependencies are built once.
binaries:
	$(STAGE) cargo build --locked --workspace --bins

# It hashes what went into the state by itself and returns at once when nothing changed.
devchain-state: binaries
	$(STAGE) target/debug/devchain

forge-test: setup ## Solidity tests
	$(STAGE) tools/forge-tests.sh

nextest: ## Rust tests
	$(STAGE) tools/rust-tests.sh

node-test:
	$(STAGE) node --test --test-reporter=spec --test-reporter-destination=stdout \
	  --test-reporter=junit --test-reporter-destination=target/node-tests.xml $(NODE_TESTS)

doctest:
	$(STAGE) env RUSTDOC=$(CURDIR)/tools/rustdoc.sh cargo test --locked --workspace --doc

doc: ## rustdoc without warnings
	$(STAGE) env RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --all-features

# Built from the packed files alone: this is how we know that the crate reads nothing outside its folder.
package: ## golem-delegation could be published
	$(STAGE) env CARGO_TARGET_DIR=target/package-check cargo package --locked --offline --allow-dirty -p golem-delegation

check-demo:
	@tools/stage.sh --record 'make demo' demo -- $(MAKE) demo

ledger: ## each line of the issues was shown by this run
	$(STAGE) $(XTASK) ledger

.PHONY: help
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
