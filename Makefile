# One word a task. `make` alone says which.

PYTHON := .venv/bin/python
TRIMLINE := target/release/trimline
# What tests run: the profile `dev`, which has all checks.
TESTED := target/debug/trimline
FIGURES := ndp/fig14 ndp/fig16 ndp/fig21
QUICK := ndp/base ndp/fig03 ndp/fig21

.PHONY: help demo demo-stages test test-stages tested other-tests golden quick-tested python-test first-hour lint rust-lint lock-files module module-tested python-lint wheel-test dist packages bench bench-instructions fuzz-build data-races validation venv release prerequisites clean rtl rtl-all rtl-fig01 rtl-fig01-all rtl-drain rtl-icarus rtl-icarus-all rtl-mutations rtl-formal rtl-formal-mutations rtl-resources rtl-fmax hardware-tools p4 see see-test wasm-target fuzz hostile hostile-stages soak miri large-result quick hashes mutations mutations-some checked nightly site notebooks

help:
	@echo "make demo                reproduce NDP Figures 14, 16 and 21: table, figures, results in out/"
	@echo "make quick               some runs of every experiment, judged twice, drawn: minutes"
	@echo "make test                every test: Rust, Python, vectors, schema, a quick reproduction"
	@echo "make hashes              whether the quick tier has the results that it had: for changes that must move none"
	@echo "make first-hour          the commands of tutorials, first hour and errors, and what they print"
	@echo "make site                the documentation site, in out/site"
	@echo "make notebooks           runs the notebooks of docs/notebooks, into out/notebooks: 10 s"
	@echo "make lint                formatting, clippy, tidiness"
	@echo "make module              the compiled part of the Python package, beside its sources"
	@echo "make wheel-test          the wheel in an empty root without Rust, and there the script of the README; docs/start.md"
	@echo "make dist                wheels and static binaries of all systems, their checksums: an hour on two cores"
	@echo "make packages            licences, packages for crates.io, macOS (compiled, not linked), workflow files"
	@echo "make bench               packet-hops per second on the standard workloads"
	@echo "make bench-instructions  the same, counted in instructions (valgrind)"
	@echo "make fuzz-build          compile the fuzz targets (nightly Rust)"
	@echo "make fuzz                run each of them for a minute"
	@echo "make large-result        what it takes to open a result of ten million flows"
	@echo "make mutations           mutants of transport, sim and metrics, and the test that finds each: NAMES='..' for some"
	@echo "make nightly             all mutations, 100,000 random networks, fuzzing, ...: hours; PART=k/n for a part of it"
	@echo "make checked             the code of a release with every index checked, and which thread changes what"
	@echo "make data-races          threads of one run under ThreadSanitizer (nightly Rust): minutes"
	@echo "make p4                  the P4 switches: compiled programs, vectors, mutants; p4c and bmv2 if installed"
	@echo "make rtl                 the hardware switch: lint, vectors, line rate (verilator, g++); rtl-all: every width"
	@echo "make rtl-formal          bounded model checking of its blocks (yosys, z3)"
	@echo "make rtl-resources       what it takes of an FPGA, by block (yosys)"
	@echo "make rtl-fig01-all       its throughput at every packet size: minutes; SIZES='64 500' for some"
	@echo "make rtl-icarus          some vectors under a second simulator; rtl-icarus-all: all"
	@echo "make rtl-mutations       mutants of the RTL, and the vector that finds each: minutes"
	@echo "make rtl-fmax            the clock it would close timing at on an ECP5: minutes (yosys)"
	@echo "make miri                the memory that system calls are given, in an interpreter (nightly Rust with Miri)"
	@echo "make hostile             every test that holds a line of docs/security.md: strangers, damage, keys, switches; minutes"
	@echo "make soak                hosts and a switch in floods, kills and flaps: ten minutes; SECONDS=30 for less"
	@echo "make see                 the simulator in one page: out/see/index.html; see-test: its bytes in headless Chromium"
	@echo "make validation          run every experiment, judge it twice, write its table and docs/validation.md"

prerequisites:
	@scripts/prerequisites.sh

# The command, and the compiled part of the Python package, which goes beside its sources. Together they take as long as one.
release module: prerequisites
	cargo build --release --locked --package trimline-cli --package trimline-py
	cmp -s target/release/libtrimline_core.so python/trimline/_core.abi3.so || \
		cp target/release/libtrimline_core.so python/trimline/_core.abi3.so

# Everything that tests run: commands, the Python module, and the tests themselves, in one go: two would wait for each
# other's longest crate.
tested: prerequisites
	@scripts/stage "compile" cargo build --quiet --workspace --lib --bins --tests --examples --locked

# The Python package with a module that has all checks. `make module` brings the fast one back.
module-tested: tested
	@cmp -s target/debug/libtrimline_core.so python/trimline/_core.abi3.so || \
		{ cp target/debug/libtrimline_core.so python/trimline/_core.abi3.so && \
		echo "python/trimline now has a module with all checks, which is slow: 'make module' brings the fast one back"; }

# A path file makes the package importable from where it stands: nothing is built or copied.
venv: .venv/installed
.venv/installed: python/requirements.txt | prerequisites
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement python/requirements.txt
	echo "$(CURDIR)/python" > "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/trimline.pth"
	touch $@

# The table names a finding that does not hold (status 1), and the README of its experiment explains it. The
# demonstration does not fail.
demo: prerequisites
	@scripts/stage "make demo" $(MAKE) --no-print-directory demo-stages
demo-stages:
	@scripts/concurrently out/venv.log 'scripts/stage "Python packages" $(MAKE) --no-print-directory venv' \
		'scripts/stage "compile" $(MAKE) --no-print-directory release'
	@scripts/stage "Figures 14, 16 and 21" sh -c '$(TRIMLINE) reproduce $(FIGURES) || [ $$? -eq 1 ]'

quick: release venv
	$(TRIMLINE) reproduce all --quick || [ $$? -eq 1 ]
	python3 scripts/check_verdicts.py out/quick

hashes: quick
	python3 scripts/result_hashes.py out/quick --check experiments/hashes-quick.txt

test: prerequisites
	@scripts/stage "make test" $(MAKE) --no-print-directory test-stages
test-stages:
	@scripts/concurrently out/venv.log 'scripts/stage "Python packages" $(MAKE) --no-print-directory venv' \
		'$(MAKE) --no-print-directory module-tested'
	@scripts/stage "schema and golden run" $(MAKE) --no-print-directory golden
	@scripts/stage "examples in Rust" scripts/examples.sh
	@scripts/stage "experiments, judged twice" $(MAKE) --no-print-directory quick-tested
	@scripts/stage "vectors" cargo xtask vectors
	@scripts/stage "Rust tests, the simulator's runs" cargo test --quiet --workspace --locked --test runs
	@scripts/concurrently out/python-test.log 'scripts/stage "Python tests" $(MAKE) --no-print-directory python-test' \
		'scripts/stage "Rust tests, others" $(MAKE) --no-print-directory other-tests'

# Many of these wait for clocks; the simulator's runs have both cores for themselves.
other-tests:
	cargo test --quiet --workspace --locked --lib --bins --test '[!r]*' --test raw
	cargo test --quiet --workspace --locked --doc

# The schema in the repository is what the program prints.
golden:
	$(TESTED) schema | diff - schema/scenario.schema.json
	$(TESTED) run crates/cli/tests/golden/scenario.toml --out out/golden
	diff out/golden/seed-1/flows.csv crates/cli/tests/golden/flows.csv
	diff out/golden/seed-1/summary.json crates/cli/tests/golden/summary.json

# Verdicts are computed a second time, by a program that shares no code with the first.
quick-tested:
	$(TESTED) reproduce $(QUICK) --no-plot --out out/test
	python3 scripts/check_verdicts.py out/test

python-test:
	$(PYTHON) -m unittest discover --start-directory python --top-level-directory python

# The commands of these documents print what stands there. One of them makes a transport in a crate of its own.
# docs/start.md is run by wheel-test, with the wheel.
first-hour: module-tested venv
	scripts/run_document.py docs/tutorials/*.md docs/first-hour.md docs/errors.md

# The notebooks with their output, and as pages of the site: of a progress bar these have the last state alone, which is
# empty.
notebooks: module-tested venv
	rm -rf out/notebooks && mkdir -p out/notebooks && cp docs/notebooks/*.ipynb out/notebooks
	.venv/bin/jupyter nbconvert --log-level WARN --execute --inplace out/notebooks/*.ipynb
	.venv/bin/jupyter nbconvert --log-level WARN --CoalesceStreamsPreprocessor.enabled=True --to markdown \
		out/notebooks/*.ipynb

# Its packages stand apart. Rust's documentation is part of it if `make lint` or `cargo doc` has made it.
out/site-venv/installed: docs/requirements.txt | prerequisites
	python3 -m venv out/site-venv
	out/site-venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@
site: notebooks out/site-venv/installed
	out/site-venv/bin/python scripts/site.py $(TESTED)

lint: rust-lint python-lint
rust-lint: prerequisites lock-files
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps --locked
	cargo xtask tidy

# Lock files that are older than their manifests stop `--locked` builds of a package that CI does not build.
lock-files:
	cargo update --quiet --workspace --locked
	cargo update --quiet --workspace --locked --manifest-path fuzz/Cargo.toml

# The stub says what the compiled module has; the wheel installs and its script of the README runs.
python-lint: module-tested venv
	.venv/bin/ruff format --check python experiments
	.venv/bin/ruff check python experiments
	.venv/bin/mypy python/trimline
	PYTHONPATH=python .venv/bin/stubtest trimline._core --ignore-missing-stub

out/dist/venv/installed: scripts/dist-requirements.txt
	test -x out/dist/venv/bin/python || python3 -m venv out/dist/venv
	out/dist/venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# The wheel of x86-64 with all checks. Only its last crate is linked again, for the C library of manylinux_2_28.
wheel-test: prerequisites out/dist/venv/installed
	rm -rf out/wheel
	PATH="$$PWD/out/dist/venv/bin:$$PATH" maturin build --quiet --profile dev --out out/wheel \
		--compatibility manylinux_2_28 --auditwheel check -- -C linker=scripts/manylinux_cc
	out/dist/venv/bin/auditwheel show out/wheel/trimline-*.whl | grep 'following platform tag: "manylinux_2_28_x86_64"'
	out/dist/venv/bin/pip download --quiet --disable-pip-version-check --dest out/wheel \
		--constraint python/requirements.txt out/wheel/trimline-*.whl pip
	scripts/empty_root.sh out/wheel
	rm -rf out/wheel-venv && python3 -m venv out/wheel-venv
	out/wheel-venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links out/wheel trimline
	scripts/run_document.py --program out/wheel-venv/bin --installed docs/start.md

dist: prerequisites
	scripts/dist.sh

# Git must be clean: packages are of a commit.
packages: prerequisites
	@cargo deny --version >/dev/null 2>&1 || { echo "missing: cargo-deny; bring it with: cargo install --locked cargo-deny" >&2; exit 1; }
	@command -v actionlint >/dev/null || { echo "missing: actionlint; bring it with: \
	go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12" >&2; exit 1; }
	cargo deny check licenses bans sources
	cargo publish --workspace --dry-run --locked
	rustup --quiet target add aarch64-apple-darwin
	cargo check --locked --package trimline-py --package trimline-cli --target aarch64-apple-darwin
	actionlint

# The compiled programs are executed on their vectors; with p4c-bm2-ss or simple_switch on PATH they are asked too.
p4: prerequisites
	p4/compile.sh
	cargo p4
	cargo p4 --mutations
	cargo test --package trimline-p4 --quiet

hardware-tools:
	@for tool in verilator g++; do command -v $$tool >/dev/null || { echo "missing: $$tool; bring it with: \
	sudo apt-get install --yes verilator g++" >&2; exit 1; }; done

rtl rtl-all: hardware-tools prerequisites rtl-fig01 rtl-drain
	cargo xtask vectors --expand out/vectors
	rtl/test.sh $(if $(filter rtl-all,$@),--all)

out/rtl/fig01/fig01: rtl/build.sh rtl/bench/fig01.cpp $(wildcard rtl/bench/*.h) $(wildcard rtl/src/*.sv) | hardware-tools
	rtl/build.sh fig01 fig01.cpp CELLS=8192

# The 23 sizes of TR-933, 9000 bytes, mixes of sizes; at 150, 180 and 200 MHz.
rtl-fig01: out/rtl/fig01/fig01
	mkdir -p out/fig01
	$< out/fig01/throughput.csv

# Every size from 64 to 1600, and 9000: SIZES="64 500" takes some of them.
rtl-fig01-all: out/rtl/fig01/fig01
	mkdir -p out/fig01
	$< out/fig01/all$(subst $() ,-,$(SIZES)).csv $(if $(SIZES),--sizes $(SIZES),--all)

# The way out alone: queues that empty into sinks that are always ready.
rtl-drain: out/rtl/fig01/fig01
	$< --drain

# Mutants of the RTL and the vector that finds each; MUTANTS="1 8" makes some of them.
rtl-mutations: hardware-tools prerequisites
	cargo xtask vectors --expand out/vectors
	rtl/mutations.sh $(MUTANTS)

# The vectors under Icarus Verilog.
out/rtl/venv/%: rtl/requirements-%.txt
	test -x out/rtl/venv/bin/python || python3 -m venv out/rtl/venv
	out/rtl/venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

rtl-icarus rtl-icarus-all: prerequisites out/rtl/venv/icarus
	@command -v iverilog >/dev/null || { echo "missing: iverilog; bring it with: sudo apt-get install --yes iverilog" >&2; exit 1; }
	cargo xtask vectors --expand out/vectors
	out/rtl/venv/bin/python rtl/icarus.py $(if $(filter rtl-icarus-all,$@),--all) $(if $(WIDTH),--width $(WIDTH))

# Bounded model checking of the blocks: a minute. rtl-formal-mutations makes a mistake in each and wants it found.
rtl-formal rtl-formal-mutations:
	@for tool in yosys yosys-smtbmc z3; do command -v $$tool >/dev/null || { echo "missing: $$tool; bring it with: \
	sudo apt-get install --yes yosys z3" >&2; exit 1; }; done
	rtl/formal/run.sh $(if $(filter rtl-formal-mutations,$@),--mutations)

# What it takes of an FPGA, NDP on and off, against rtl/resources.json.
rtl-resources:
	@command -v yosys >/dev/null || { echo "missing: yosys; bring it with: sudo apt-get install --yes yosys" >&2; exit 1; }
	python3 rtl/resources.py

# The clock at which it would close timing on an ECP5, against rtl/fmax.json: minutes. WIDTH=256 for another width.
rtl-fmax: out/rtl/venv/fmax
	@command -v yosys >/dev/null || { echo "missing: yosys; bring it with: sudo apt-get install --yes yosys" >&2; exit 1; }
	out/rtl/venv/bin/python rtl/fmax.py $(if $(WIDTH),--width $(WIDTH))

# The simulator in one page (docs/see.md), and a page that compiles sooner, whose results must have the bytes of native runs.
wasm-target: prerequisites
	@test -d "$$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" || \
		{ echo "missing: Rust for WebAssembly; bring it with: rustup target add wasm32-unknown-unknown" >&2; exit 1; }

see: wasm-target
	cargo build --locked --package trimline-web --target wasm32-unknown-unknown --profile web
	python3 scripts/see.py target/wasm32-unknown-unknown/web/trimline_web.wasm out/see/index.html

see-test: wasm-target tested
	cargo build --quiet --locked --package trimline-web --target wasm32-unknown-unknown --profile web-test
	python3 scripts/see.py target/wasm32-unknown-unknown/web-test/trimline_web.wasm out/see-test/index.html
	python3 scripts/see_test.py out/see-test/index.html $(TESTED)

bench: release
	$(TRIMLINE) bench

bench-instructions: release
	@command -v valgrind >/dev/null || { echo "missing: valgrind; bring it with: sudo apt-get install --yes valgrind" >&2; exit 1; }
	python3 scripts/bench_instructions.py

# Mistakes in the sources and the test that finds each: about twenty minutes on two cores. NAMES="a b" makes some of them.
mutations: prerequisites
	cargo xtask mutations $(NAMES)

# Two of them; that all can be made is checked by `cargo xtask tidy`.
mutations-some: prerequisites
	cargo xtask mutations the-first-window-has-no-end cubic-reduces-by-half

# Indices that only debug builds check, and owners of what threads share, in the code that is released. The tests of table.rs
# need nothing of its crate. The rest is compiled once, as both packages are named each time: one alone has other features.
CHECKED := --profile checked --locked --package trimline-sim --package trimline-cli --features trimline-sim/checked
checked: prerequisites
	mkdir -p target/checked
	rustc --edition 2024 --test -O --cfg 'feature="checked"' --allow dead_code crates/sim/src/table.rs -o target/checked/table
	target/checked/table
	TRIMLINE_SEEDS=100 cargo test $(CHECKED) --test runs
	cargo build $(CHECKED) --bin trimline
	target/checked/trimline run crates/cli/tests/golden/scenario.toml --out out/checked
	diff out/checked/flows.csv crates/cli/tests/golden/flows.csv
	diff out/checked/summary.json crates/cli/tests/golden/summary.json

# What is too long for every change; PART=2/16 is one of sixteen parts of it.
nightly: prerequisites venv
	scripts/nightly.sh $(PART)

data-races: prerequisites
	@cargo +nightly --version >/dev/null 2>&1 || { echo "missing: nightly Rust; bring it with: rustup toolchain install nightly" >&2; exit 1; }
	python3 scripts/data_races.py

# The tests that docs/security.md and docs/operators.md name. Compiled first, so that the time is theirs.
# All packages are named each time: one alone has other features, and is compiled again.
HOSTILE := --quiet --locked --package trimline-stack --package trimline-cli --package trimline-transport
hostile: prerequisites
	@scripts/stage "compile" cargo build $(HOSTILE) --bins --lib --tests
	@scripts/stage "make hostile" $(MAKE) --no-print-directory hostile-stages
hostile-stages:
	@scripts/stage "hosts and switches" cargo test $(HOSTILE) --test hostile
	@scripts/stage "their parts" cargo test $(HOSTILE) --lib -- host:: io:: switch:: \
		net:: rows:: writer:: terminal:: openmetrics:: log:: stats:: switch_ports::
	@scripts/stage "doubts of the transport" cargo test $(HOSTILE) --test ndp -- doubted
	@scripts/stage "commands" cargo test $(HOSTILE) --test hosts

# Everything goes wrong for ten minutes, or for SECONDS; nightly, not in CI.
soak: prerequisites
	cargo run --release --locked --package trimline-stack --example soak -- $(SECONDS)

# What the system calls are given, and what they leave, in an interpreter that knows whose memory is whose.
miri: prerequisites
	@cargo +nightly miri --version >/dev/null 2>&1 || { echo "missing: Miri; bring it with: rustup +nightly component add miri" >&2; exit 1; }
	MIRIFLAGS=-Zmiri-strict-provenance cargo +nightly miri test --locked --package trimline-stack --lib -- \
		io::sys::tests io::sys::rings io::sys::datagrams io::offload

# With cargo-fuzz as it will be run, without it only compiled.
fuzz-build: prerequisites
	@cargo +nightly --version >/dev/null 2>&1 || { echo "missing: nightly Rust; bring it with: rustup toolchain install nightly" >&2; exit 1; }
	@if cargo fuzz --version >/dev/null 2>&1; then cargo +nightly fuzz build; \
	else echo "cargo-fuzz is not installed (cargo install cargo-fuzz): compiling without coverage"; \
	cargo +nightly build --manifest-path fuzz/Cargo.toml; fi

fuzz: prerequisites
	@cargo +nightly --version >/dev/null 2>&1 || { echo "missing: nightly Rust; bring it with: rustup toolchain install nightly" >&2; exit 1; }
	scripts/fuzz.sh 60

large-result: module venv
	$(PYTHON) scripts/large_result.py

validation: release
	mkdir -p out
	-$(TRIMLINE) reproduce all --json --no-plot > out/verdict.json
	python3 scripts/validation_table.py out/verdict.json
	python3 scripts/check_verdicts.py out --json out/verdict.json

clean:
	cargo clean
	rm -rf out .venv
