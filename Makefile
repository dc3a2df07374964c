# Two commands do everything on a fresh machine (Rust, gcc, make, Python 3 with pip): `make demo` and `make test`.
# What they need besides is installed below build/, from PyPI, the first time.

PYTHON ?= python3
BUILD := build
TOOLS := $(BUILD)/tools
CMAKE := $(TOOLS)/bin/cmake
NINJA := $(TOOLS)/bin/ninja
CTEST := $(TOOLS)/bin/ctest
# Requirement files, with hashes: tools/requirements/. The number changes with a file, so that build folders that are
# there already get its new versions.
REQUIREMENTS := tools/requirements
TOOLS_STAMP := $(TOOLS)/packages-3
# Formatters, linters and the type checker, only for `make check` and `make format`.
FORMAT_STAMP := $(TOOLS)/format-2
# Packages that the tests of the Python package need, and those that check its wheel.
PYTHON_STAMP := $(TOOLS)/python-1
WHEEL_STAMP := $(TOOLS)/wheel-1
# Packages of the public suite of the array API standard.
ARRAY_API_STAMP := $(TOOLS)/array_api-1
# All but those that `make header` writes.
C_FILES := $(filter-out c_tests/abi/frozen.h include/lazyxla/members.hpp include/lazyxla/constants.hpp, \
  $(wildcard c_tests/*/*.c c_tests/*/*.cc \
  c_tests/*/*.h c_tests/*/*.hpp c_tests/abi/consumer/*.c examples/*.c examples/*.cc examples/*.h benches/*.c \
  benches/*.h probe/*.c mpi/*.c mpi/*.h tools/*.c include/lazyxla_mpi.h include/lazyxla_short.h \
  include/lazyxla_short/*.h include/lazyxla.hpp include/lazyxla/*.hpp bindings/go/shim.c bindings/go/shim.h))
PYTHON_FOLDERS := benches c_tests examples python tools
# The peer of tests and benchmarks, in a folder of its own.
JAX := $(BUILD)/jax
JAX_STAMP := $(JAX)/packages-4
# Another peer, of several gigabytes: only for `make test-torch`.
TORCH := $(BUILD)/torch
TORCH_STAMP := $(TORCH)/packages-2
# Plugins for devices that the machine need not have: 0.5 GB to download, 1.5 GB installed.
ACCELERATORS := $(BUILD)/accelerators
ACCELERATORS_STAMP := $(ACCELERATORS)/packages-1
# A CPU plugin for another processor, and what is built for it: only for `make test-arm64`.
ARM64 := $(BUILD)/arm64
ARM64_STAMP := $(ARM64)/packages-1
# XLA's headers and libraries for the engine xla-rs: only for `make test-xla-rs`. With XLA_EXTENSION_DIR set, that
# folder is used, and nothing is installed but libclang.
XLA_RS := $(BUILD)/xla_rs
XLA_RS_STAMP := $(XLA_RS)/packages-1
LIBCLANG_STAMP := $(XLA_RS)/libclang-1
# Sphinx for the documentation site, and mermaid, which draws diagrams in the reader's browser.
DOCS := $(BUILD)/docs
DOCS_STAMP := $(DOCS)/packages-1
MERMAID_STAMP := $(DOCS)/mermaid-1
# Trees of CMake: with the release library, which is installed, and with the debug library, for `make test`.
TREE := $(BUILD)/cmake
DEBUG_TREE := $(BUILD)/debug
DEMO := $(BUILD)/demo
# The kit for accelerators, and the tree of CMake with its programs. Rust writes the paths of sources into programs: for
# the kit, which leaves the machine, without the folders of this machine, and the library forgets its source tree.
KIT := $(BUILD)/accelerator-kit
KIT_TREE := $(BUILD)/accelerator-kit-tree
KIT_ENV = LXLA_RELEASE=1 CARGO_TARGET_DIR="$(abspath $(KIT_TREE))/target" CARGO_ENCODED_RUSTFLAGS="$$(printf '%s\037%s' \
  "--remap-path-prefix=$(CURDIR)=/lazyxla" "--remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=/cargo")"
JOBS ?= $(shell nproc)

PLUGINS := $(BUILD)/plugins
PLUGIN_STAMP := $(PLUGINS)/default-1
OTHER_PLUGINS_STAMP := $(PLUGINS)/others-1
# Every CPU plugin that the suite has to pass on, the default one first.
CPU_PLUGINS := fastatomstruct_xla_cpu/libpjrt_cpu.so lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so \
  xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so

# Makes XLA compile in half the time, without LLVM's optimizations and with its older emitters: for tests whose subject
# is not the arithmetic of compiled code. `make test-long` and `make test-plugins` compile all tests as for users. Only
# for the default plugin, since others may not know the flags; XLA_FLAGS of the caller win.
QUICK_XLA := $(if $(LXLA_PJRT_PLUGIN)$(XLA_FLAGS),,XLA_FLAGS="--xla_backend_optimization_level=0 \
  --xla_cpu_use_fusion_emitters=false")
# The tests in Rust, below tests/ and in the folders `tests` of the crates, and the tests that mostly wait for XLA's
# compiler.
RUST_FOLDERS := tests $(filter-out crates/xla-rs/tests,$(wildcard crates/*/tests))
RUST_TESTS := $(sort $(notdir $(basename $(wildcard $(RUST_FOLDERS:=/*.rs)))) \
  $(notdir $(patsubst %/main.rs,%,$(wildcard $(RUST_FOLDERS:=/*/main.rs)))))
COMPILING_TESTS := meshes transforms
# Numbers of random programs in `make test`; the other targets, and `cargo test`, run more.
FEW_PROGRAMS := LXLA_ORACLE_PROGRAMS=500 LXLA_TRANSFORM_PROGRAMS=100

# For tests of the arithmetic of compiled code in `make test`: without LLVM's optimizations, which take a third of their
# time. `make test-release` compiles them as for users.
NUMBERS_XLA := $(if $(LXLA_PJRT_PLUGIN)$(XLA_FLAGS),,XLA_FLAGS="--xla_backend_optimization_level=0")

# The threads of NumPy's BLAS wait by spinning, and tests keep all processors busy. Benchmarks set their own number.
export OPENBLAS_NUM_THREADS ?= 1

# $(1) a build tree, $(2) how to compile tests with label `numbers`: its tests without label `long`. With MAKEFLAGS, ctest
# would share the job slots of make 4.4 or later.
define short_tests
	env -u MAKEFLAGS $(2) $(CTEST) --test-dir $(1) --output-on-failure -j $(JOBS) -L '^numbers$$' -LE '^long$$'
	env -u MAKEFLAGS $(QUICK_XLA) $(CTEST) --test-dir $(1) --output-on-failure -j $(JOBS) -LE '^(long|numbers)$$'
endef

# $(1) a build tree, $(2) cargo's profile, $(3) CMake's build type.
configure = $(CMAKE) -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(NINJA)) -DLAZYXLA_CARGO_PROFILE=$(2) \
  -DCMAKE_BUILD_TYPE=$(3) -DLAZYXLA_PYTHON=ON -DPython3_EXECUTABLE=$(abspath $(TOOLS)/bin/python) > /dev/null

# $(1) an installed Python, $(2) a requirement file, $(3) more options.
pip = $(1) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: $(3) \
  --requirement $(REQUIREMENTS)/$(2)

.PHONY: all demo gpt import test test-release test-rust debug-library debug-tree release-library test-long \
  test-landing test-c test-plugins test-accelerators test-torch test-array-api test-stablehlo test-arm64 test-xla-rs \
  test-report abi docs packages test-packages accelerator-kit test-accelerator-kit soak sweep fuzz tsan bench \
  bench-counts check check-library check-code \
  format header wheel plugin plugins jax configure build install clean

all: build

# Trains a network on real handwritten digits. The library is built without optimizations, as `make test` needs it too:
# that takes half as long, and a step of the demo is half again as long. cargo and pip work at the same time.
demo:
	$(MAKE) --jobs $(JOBS) plugin debug-library
	mkdir -p $(DEMO)
	$(CC) -O2 -Iinclude examples/train_digits.c -o $(DEMO)/train_digits \
	  -Ltarget/debug -llazyxla -lm -Wl,-rpath,$(abspath target/debug)
	$(DEMO)/train_digits examples/data/digits.csv

# Trains a small language model on real text, and lets it write.
gpt: plugin configure
	$(CMAKE) --build $(TREE) --target gpt
	$(TREE)/examples/gpt examples/data/genesis_exodus.txt --save $(TREE)/gpt.safetensors

# Runs a network that JAX exported, trains it on, and exports it again.
import: plugin configure
	$(CMAKE) --build $(TREE) --target import
	$(TREE)/examples/import examples/models/digits.jax --digits examples/data/digits.csv --save $(TREE)/tuned_digits

# Tests: Rust and C at once, on the default CPU plugin; all but those with label `long`. They use the debug library,
# which the demo has built and which checks more: the release build keeps one processor busy for 6 minutes (one codegen
# unit), and most tests wait for XLA's compiler. `make test-release` runs the C tests on the release library.
test:
	$(MAKE) --jobs $(JOBS) test-rust test-c

test-c: debug-tree
	$(call short_tests,$(DEBUG_TREE),$(NUMBERS_XLA))

test-release: build
	$(call short_tests,$(TREE))

# The tests that take longest: sizes of a million operations, exits, faults, threads, the sweep, the fuzzer, JAX, more
# trainings of the examples; 500 random programs and 2,700 single operations on meshes; the tests of `make test`, on the
# release library, with XLA's optimizations.
test-long: build $(JAX_STAMP)
	$(CTEST) --test-dir $(TREE) --output-on-failure -j $(JOBS) -L '^long$$'
	$(CTEST) --test-dir $(TREE) --output-on-failure -j $(JOBS) -LE '^long$$'
	cargo test --test oracle $(addprefix --test ,$(COMPILING_TESTS))
	LXLA_ORACLE_MESH_PROGRAMS=500 cargo test --release --test oracle e6_meshes -- --nocapture
	LXLA_TRANSFORM_MESH_PROGRAMS=60 cargo test --release --test transforms -- meshes:: shard_maps::
	LXLA_MESH_SWEEP_CASES=20 cargo test --release --test meshes
	$(if $(ARRAY_API_TESTS),$(MAKE) test-array-api)
	$(if $(STABLEHLO_TESTS),$(MAKE) test-stablehlo)

# The public suite of the array API standard, of which ARRAY_API_TESTS is a checkout; a part of `make test-long` if that
# is set.
test-array-api: $(if $(ARRAY_API_TESTS),build $(ARRAY_API_STAMP),$(TOOLS)/bin/python)
	PYTHONPATH=$(abspath $(TREE)/python) TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python python/tests/array_api.py \
	  "$(ARRAY_API_TESTS)"

# StableHLO's own tests, of which STABLEHLO_TESTS is the folder `stablehlo` in a checkout; a part of `make test-long` if
# that is set.
test-stablehlo: build $(JAX_STAMP)
	TF_CPP_MIN_LOG_LEVEL=1 $(JAX)/bin/python c_tests/programs/stablehlo_test.py $(TREE)/lib/liblazyxla.so \
	  "$(STABLEHLO_TESTS)"

# What continuous integration runs beside `make test`: on the release library, as XLA compiles for users, the tests with
# label `numbers` or `release`, and the long tests that take less than some minutes; all random programs of the Rust
# tests. Where a test has every operation in every dtype, a third of the dtypes, another one in each commit.
test-landing: export LXLA_TEST_TURN ?= $(shell git rev-list --count HEAD 2> /dev/null || echo 0)
test-landing: build $(JAX_STAMP)
	$(CTEST) --test-dir $(TREE) --output-on-failure -j $(JOBS) -L '^(long|numbers|release)$$' -LE '^(longest|part)$$'
	cargo test --test oracle $(addprefix --test ,$(COMPILING_TESTS))

# The C suite, the oracle, single operations on meshes and the demo on each CPU plugin.
test-plugins: build $(JAX_STAMP)
	tools/test_plugins.sh $(TREE) $(CTEST) $(JOBS) $(addprefix $(PLUGINS)/,$(CPU_PLUGINS))

# What plugins for GPUs, TPUs and Tenstorrent's chips do, without these devices too.
test-accelerators: build $(ACCELERATORS_STAMP)
	$(TOOLS)/bin/python c_tests/faults/accelerators_test.py $(TREE)/lib/liblazyxla.so $(ACCELERATORS)

# The page of lxla_report in headless Chromium, from samples and from a run of the language model. Needs Node.js and
# Chromium. Fails also if the committed page is not the one that `tools/report/build.sh` builds.
test-report: build
	tools/report/build.sh
	git diff --exit-code --stat assets/report
	$(CTEST) --test-dir $(TREE) -R '^report' --output-on-failure

# DLPack with PyTorch, imported operators and models beside PyTorch's values and gradients, and modules as functions in
# Python.
test-torch: build $(TORCH_STAMP)
	$(TORCH)/bin/python c_tests/abi/dlpack_test.py $(TREE)/lib/liblazyxla.so torch
	$(TORCH)/bin/python c_tests/programs/pytorch_survey.py $(TREE)/lib/liblazyxla.so
	$(TORCH)/bin/python c_tests/programs/pytorch_models.py $(TREE)/lib/liblazyxla.so
	PYTHONPATH=$(abspath $(TREE)/python) TF_CPP_MIN_LOG_LEVEL=1 $(TORCH)/bin/python python/tests/from_torch_test.py

# For Linux on arm64, cross-built and emulated: Rust tests, a part of the oracle and of the C suite. What it needs:
# tools/test_arm64.sh.
test-arm64: plugins $(TOOLS_STAMP) $(ARM64_STAMP)
	tools/test_arm64.sh $(ARM64) $(abspath $(CMAKE)) $(abspath $(NINJA)) $(CTEST)

# The engine over the crate xla: the C suite, the oracle, and the crate as a judge of shapes and values.
test-xla-rs: plugin plugins $(TOOLS_STAMP) $(LIBCLANG_STAMP) $(if $(XLA_EXTENSION_DIR),,$(XLA_RS_STAMP))
	tools/test_xla_rs.sh $(XLA_RS) $(CMAKE) $(abspath $(NINJA)) $(abspath $(TOOLS)/bin/python)

# The long tests: eight threads for a minute; 100,000 random programs, and twice 2,000 on the plugin; 5,000 on meshes;
# 20,000 programs differentiated and batched; 50,000 single operations on meshes.
soak: build $(JAX_STAMP)
	$(CTEST) --test-dir $(TREE) -C soak -L soak --output-on-failure
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/operations/index_sweep.py $(TREE)/lib/liblazyxla.so --all
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/operations/large_sweep.py $(TREE)/lib/liblazyxla.so 20000
	LXLA_ORACLE_PROGRAMS=100000 LXLA_ORACLE_PLUGIN_PROGRAMS=2000 LXLA_ORACLE_MESH_PROGRAMS=5000 \
	  cargo test --release --test oracle -- --nocapture
	LXLA_TRANSFORM_PROGRAMS=20000 LXLA_TRANSFORM_PLUGIN_PROGRAMS=500 LXLA_TRANSFORM_MESH_PROGRAMS=500 \
	  cargo test --release --test transforms
	LXLA_MESH_SWEEP_CASES=400 cargo test --release --test meshes

# The accuracy of functions over the whole range of their arguments: 2^24 values of f32, f64 and each complex dtype.
sweep: build
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/operations/accuracy_sweep.py $(TREE)/lib/liblazyxla.so --bits=24

# The C API against the committed one, c_tests/abi/lazyxla.abi; WRITE=1 commits what was added. Needs abidiff.
abi:
	$(PYTHON) tools/abi.py $(if $(WRITE),--write)
	$(PYTHON) c_tests/abi/abi_test.py .

FUZZ_SEED ?= 1
# Every operation of the ABI with random arguments.
fuzz: build
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/abi/fuzz_abi.py $(TREE)/lib/liblazyxla.so 200000 $(FUZZ_SEED)
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/abi/fuzz_meshes.py $(TREE)/lib/liblazyxla.so 10000 $(FUZZ_SEED)

# The thread tests under ThreadSanitizer.
tsan: plugin plugins
	tools/tsan.sh 60

# The benchmarks of benches/README.md.
bench: build $(JAX_STAMP)
	$(CMAKE) -S . -B $(TREE) -DLAZYXLA_BENCHES=ON > /dev/null
	$(CMAKE) --build $(TREE)
	benches/run.sh $(TREE)/benches

# Instructions of recording and of a cached step against benches/instructions.txt; WRITE=1 writes it. Needs valgrind.
bench-counts: plugin plugins configure
	$(CMAKE) -S . -B $(TREE) -DLAZYXLA_BENCHES=ON > /dev/null
	$(CMAKE) --build $(TREE) --target bench_step_real
	$(TOOLS)/bin/python benches/instructions.py $(TREE)/benches/bench_step_real $(if $(WRITE),--write)

# What must hold besides the tests: formats, lints, docs and their links, header, symbols and docs/operations.md. The
# release build keeps one processor busy for minutes, the rest meanwhile the others.
check: $(FORMAT_STAMP)
	$(MAKE) --jobs $(JOBS) check-library check-code

check-library: release-library
	nm -D --defined-only target/release/liblazyxla.so | awk '{ print $$3 }' | LC_ALL=C sort | \
	  diff include/lazyxla.symbols -

check-code: $(FORMAT_STAMP)
	cargo fmt --all --check
	@$(TOOLS)/bin/clang-format --dry-run --Werror $(C_FILES)
	$(TOOLS)/bin/ruff format --no-cache --check $(PYTHON_FOLDERS)
	$(TOOLS)/bin/ruff check --no-cache $(PYTHON_FOLDERS)
	MYPYPATH=python $(TOOLS)/bin/python -m mypy --strict --cache-dir=$(BUILD)/mypy -p lazyxla
	$(TOOLS)/bin/python tools/check_links.py
	$(TOOLS)/bin/python tools/licenses.py --check
	cargo clippy --all-targets -- -D warnings
	PYO3_NO_PYTHON=1 cargo clippy --package lazyxla-python -- -D warnings
	$(TOOLS)/bin/python tools/python_binding.py --check
	$(TOOLS)/bin/python tools/python_names.py --check
	$(TOOLS)/bin/python tools/bindings/go.py bindings/go --check
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
	cargo test --test header --test operations

# Formats Rust, C, C++ and Python.
format: $(FORMAT_STAMP)
	cargo fmt --all
	@$(TOOLS)/bin/clang-format -i $(C_FILES)
	$(TOOLS)/bin/ruff format --no-cache $(PYTHON_FOLDERS)

# Writes include/lazyxla.h, the list of symbols and docs/operations.md.
header: $(FORMAT_STAMP)
	LXLA_WRITE_HEADER=1 cargo test --test header
	LXLA_WRITE_HEADER=1 cargo test --test operations
	$(TOOLS)/bin/python tools/python_binding.py
	$(TOOLS)/bin/python tools/bindings/go.py bindings/go

debug-library:
	cargo build --package lazyxla-c --target-dir target
	ln -sf liblazyxla.so target/debug/liblazyxla.so.0

# As CMake does; cargo then finds nothing left to do.
release-library:
	cargo build --release --package lazyxla-c --target-dir target

test-rust: plugin plugins
	$(FEW_PROGRAMS) cargo test --lib \
	  $(addprefix --test ,$(filter-out $(COMPILING_TESTS),$(RUST_TESTS)))
	$(FEW_PROGRAMS) $(QUICK_XLA) cargo test $(addprefix --test ,$(COMPILING_TESTS))

# The Python package as a wheel, in build/wheels.
wheel: configure $(WHEEL_STAMP)
	$(CMAKE) --build $(TREE) --target lazyxla_python
	$(TOOLS)/bin/python tools/wheel.py wheel --stage $(TREE)/python --to $(BUILD)/wheels

# Installs the default CPU plugin below build/plugins.
plugin: $(PLUGIN_STAMP)

# Installs the other CPU plugins, one of which brings the header that tests need.
plugins: $(OTHER_PLUGINS_STAMP)

# Installs to PREFIX, below DESTDIR if that is set; with the default plugin unless INSTALL_PLUGIN is 0.
PREFIX ?= /usr/local
INSTALL_PLUGIN ?= 1
install: $(if $(filter 0,$(INSTALL_PLUGIN)),,plugin) configure
	tools/install.sh --check $(CMAKE) $(TREE) "$(PREFIX)"
	$(CMAKE) --build $(TREE) --target lazyxla_to_install
	tools/install.sh $(CMAKE) $(TREE) "$(PREFIX)" $(INSTALL_PLUGIN)

# The documentation as a site, in build/site; needs npm, gcc and Python 3.11.4. Fails if a link has no target.
docs: $(DOCS_STAMP) $(MERMAID_STAMP)
	$(DOCS)/venv/bin/python tools/docs/build.py $(DOCS)/mermaid $(DOCS) $(BUILD)/site

# Everything of a release, in build/packages: source, library, Debian packages, wheel, licences, a bill of materials,
# checksums.
packages: configure $(WHEEL_STAMP)
	tools/packages.sh $(abspath $(CMAKE)) $(abspath $(NINJA)) $(BUILD)/packages

# A folder that tries the library on another machine's accelerator, in build/accelerator-kit.
accelerator-kit: plugins $(TOOLS_STAMP) $(PYTHON_STAMP)
	$(call configure,$(KIT_TREE),release,Release) -DLAZYXLA_TESTS=OFF -DLAZYXLA_EXAMPLES=OFF -DLAZYXLA_MPI=OFF \
	  -DLAZYXLA_ACCELERATOR_KIT=ON -DLAZYXLA_CARGO_TARGET=$(abspath $(KIT_TREE))/target
	$(KIT_ENV) $(CMAKE) --build $(KIT_TREE) --target accelerator_kit_programs --target lazyxla_python
	$(KIT_ENV) $(TOOLS)/bin/python tools/accelerator_kit/build.py --tree $(KIT_TREE) --to $(KIT)

# The kit itself, whole: beside JAX, on each CPU plugin in a clean Debian (as root, with mmdebstrap or debootstrap; else
# that is skipped), from a folder with spaces, with a plugin that crashes: half an hour.
test-accelerator-kit: accelerator-kit $(JAX_STAMP)
	$(TOOLS)/bin/python tools/accelerator_kit/unit_test.py
	$(TOOLS)/bin/python tools/accelerator_kit/whole_test.py $(KIT) --jax $(JAX)/bin/python \
	  $(addprefix $(PLUGINS)/,$(CPU_PLUGINS))

# The Debian packages in a clean Debian: installed, linked with, run, removed. Needs root and mmdebstrap.
test-packages: plugin
	tools/test_packages.sh $(BUILD)/packages $(PLUGINS)/$(firstword $(CPU_PLUGINS))

# Library, tests and examples.
build: plugin plugins configure
	$(CMAKE) --build $(TREE)

configure: $(TOOLS_STAMP) $(PYTHON_STAMP)
	$(call configure,$(TREE),release,Release)

# The tests with the debug library.
debug-tree: plugin plugins $(TOOLS_STAMP) $(PYTHON_STAMP)
	$(call configure,$(DEBUG_TREE),dev,Debug)
	$(CMAKE) --build $(DEBUG_TREE)

$(PLUGIN_STAMP): | $(TOOLS)/bin/python
	rm -rf $(PLUGINS)
	$(call pip,$(TOOLS)/bin/python,plugin.txt,--no-deps --target $(PLUGINS))
	touch $@

# Installs JAX, in build/jax, for the tests and benchmarks beside it.
jax: $(JAX_STAMP)

$(OTHER_PLUGINS_STAMP): $(PLUGIN_STAMP)
	$(call pip,$(TOOLS)/bin/python,plugins.txt,--no-deps --target $(PLUGINS))
	touch $@

$(TOOLS_STAMP): | $(TOOLS)/bin/python
	$(call pip,$(TOOLS)/bin/python,tools.txt)
	touch $@

# One after the other: pip reads what is installed while another one would write it.
$(PYTHON_STAMP): | $(TOOLS_STAMP)
	$(call pip,$(TOOLS)/bin/python,python.txt)
	touch $@

$(WHEEL_STAMP): | $(PYTHON_STAMP)
	$(call pip,$(TOOLS)/bin/python,wheel.txt)
	touch $@

$(ARRAY_API_STAMP): | $(PYTHON_STAMP)
	$(call pip,$(TOOLS)/bin/python,array_api.txt)
	touch $@

$(FORMAT_STAMP): | $(PYTHON_STAMP)
	$(call pip,$(TOOLS)/bin/python,format.txt)
	touch $@

$(JAX_STAMP): | $(JAX)/bin/python
	$(call pip,$(JAX)/bin/python,jax.txt)
	touch $@

$(ACCELERATORS_STAMP): | $(TOOLS)/bin/python
	rm -rf $(ACCELERATORS)
	$(call pip,$(TOOLS)/bin/python,accelerators.txt,--no-deps --target $(ACCELERATORS))
	touch $@

$(ARM64_STAMP): | $(TOOLS)/bin/python
	rm -rf $(ARM64)/plugins
	$(call pip,$(TOOLS)/bin/python,arm64.txt,--no-deps --platform manylinux_2_27_aarch64 --target $(ARM64)/plugins)
	touch $@

$(TORCH_STAMP): | $(TORCH)/bin/python
	$(TORCH)/bin/python -m pip install --quiet torch==2.15.0 numpy==2.3.5 optree==0.20.0 torchvision==0.29.2 \
	  timm==1.0.31 transformers==5.24.0
	touch $@

$(XLA_RS_STAMP): | $(TOOLS)/bin/python
	$(call pip,$(TOOLS)/bin/python,xla_rs.txt,--no-deps --upgrade --target $(XLA_RS)/packages)
	touch $@

$(LIBCLANG_STAMP): | $(TOOLS)/bin/python
	$(call pip,$(TOOLS)/bin/python,libclang.txt,--no-deps --upgrade --target $(XLA_RS)/libclang)
	touch $@

$(DOCS_STAMP): | $(DOCS)/venv/bin/python
	$(call pip,$(DOCS)/venv/bin/python,docs.txt)
	touch $@

$(MERMAID_STAMP):
	tools/docs/mermaid.sh $(DOCS)/mermaid
	touch $@

$(DOCS)/venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11, 4) or sys.exit("make docs needs Python 3.11.4 or later, and " \
	  "$(PYTHON) is " + sys.version.split()[0] + ": name another one by make docs PYTHON=python3.12")'
	$(PYTHON) -m venv $(DOCS)/venv

$(TORCH)/bin/python:
	$(PYTHON) -m venv $(TORCH)

$(TOOLS)/bin/python:
	$(PYTHON) -m venv $(TOOLS)

$(JAX)/bin/python:
	$(PYTHON) -m venv $(JAX)

clean:
	rm -rf $(BUILD) target
