# Two commands do everything on a fresh machine (Rust, gcc, make, Python 3 with pip): `make demo` and `make test`.
# What they need besides is installed below build/, from PyPI, the first time.

PYTHON ?= python3
BUILD := build
TOOLS := $(BUILD)/tools
CMAKE := $(TOOLS)/bin/cmake
NINJA := $(TOOLS)/bin/ninja
CTEST := $(TOOLS)/bin/ctest
# To change: the list, and the number, so that build folders that are there already get the new list.
PACKAGES := cmake==3.31.6 ninja==1.11.1.4 safetensors==0.7.0 ml_dtypes==0.5.4 \
  "numpy==2.2.6; python_version < '3.11'" "numpy==2.3.5; python_version >= '3.11'"
TOOLS_STAMP := $(TOOLS)/packages-1
# The peer of tests and benchmarks, in a folder of its own.
JAX := $(BUILD)/jax
JAX_PACKAGES := "jax==0.10.2; python_version >= '3.11'" "jaxlib==0.10.2; python_version >= '3.11'" \
  "numpy==2.3.5; python_version >= '3.11'"
JAX_STAMP := $(JAX)/packages-1
# Another peer, of several gigabytes: only for `make test-torch`.
TORCH := $(BUILD)/torch
TORCH_STAMP := $(TORCH)/packages-1
TREE := $(BUILD)/cmake
JOBS ?= $(shell nproc)

PLUGIN := xla-cpu-pjrt==0.0.1
PLUGIN_SHA256 := 55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc
PLUGIN_STAMP := $(BUILD)/plugins/xla-cpu-pjrt-0.0.1

.PHONY: all demo test test-torch soak fuzz tsan bench check header plugin configure build install clean

all: build

demo: build  ## Trains a network on real handwritten digits.
	$(TREE)/examples/train_digits examples/data/digits.csv

test: build $(JAX_STAMP)  ## All tests: Rust, then C, on the real CPU plugin.
	cargo test --release
	$(CTEST) --test-dir $(TREE) --output-on-failure -j $(JOBS)

test-torch: build $(TORCH_STAMP)  ## DLPack with PyTorch.
	$(TORCH)/bin/python c_tests/dlpack_test.py $(TREE)/lib/liblazyxla.so torch

soak: build  ## The long tests: eight threads for a minute; 100,000 random programs, and twice 2,000 on the plugin.
	$(CTEST) --test-dir $(TREE) -C soak -L soak --output-on-failure
	LXLA_ORACLE_PROGRAMS=100000 LXLA_ORACLE_PLUGIN_PROGRAMS=2000 cargo test --release --test oracle -- --nocapture

FUZZ_SEED ?= 1
fuzz: build  ## Every operation of the ABI with random arguments.
	TF_CPP_MIN_LOG_LEVEL=1 $(TOOLS)/bin/python c_tests/fuzz_abi.py $(TREE)/lib/liblazyxla.so 200000 $(FUZZ_SEED)

tsan: plugin  ## The thread tests under ThreadSanitizer.
	tools/tsan.sh 60

bench: build $(JAX_STAMP)  ## The benchmarks of benches/README.md.
	$(CMAKE) -S . -B $(TREE) -DLAZYXLA_BENCHES=ON > /dev/null
	$(CMAKE) --build $(TREE)
	benches/run.sh $(TREE)/benches

check:  ## What must hold besides the tests: format, lints, docs, header, symbols and docs/operations.md.
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
	cargo build --release --lib
	nm -D --defined-only target/release/liblazyxla.so | awk '{ print $$3 }' | LC_ALL=C sort | diff include/lazyxla.symbols -
	cargo test --release --test header --test operations

header:  ## Writes include/lazyxla.h, the list of symbols and docs/operations.md anew.
	LXLA_WRITE_HEADER=1 cargo test --release --test header
	LXLA_WRITE_HEADER=1 cargo test --release --test operations

plugin: $(PLUGIN_STAMP)  ## Installs the CPU plugin below build/plugins.

install: build  ## Installs to PREFIX.
	$(CMAKE) --install $(TREE) --prefix $(or $(PREFIX),/usr/local)

build: plugin configure  ## Library, tests and examples (the tests need the header that comes with the plugin).
	$(CMAKE) --build $(TREE)

configure: $(TOOLS_STAMP)
	$(CMAKE) -S . -B $(TREE) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(NINJA)) -DPython3_EXECUTABLE=$(abspath $(TOOLS)/bin/python) > /dev/null

# One file with a version: pip checks it against this hash and installs it without looking at anything else.
$(PLUGIN_STAMP): | $(TOOLS)/bin/python
	rm -rf $(BUILD)/plugins
	mkdir -p $(BUILD)/plugins
	echo '$(PLUGIN) --hash=sha256:$(PLUGIN_SHA256)' > $(BUILD)/plugins/requirements.txt
	$(TOOLS)/bin/python -m pip install --quiet --require-hashes --no-deps --only-binary :all: \
	  --target $(BUILD)/plugins --requirement $(BUILD)/plugins/requirements.txt
	touch $@

$(TOOLS_STAMP): | $(TOOLS)/bin/python
	$(TOOLS)/bin/python -m pip install --quiet $(PACKAGES)
	touch $@

$(JAX_STAMP): | $(JAX)/bin/python
	$(JAX)/bin/python -m pip install --quiet $(JAX_PACKAGES)
	touch $@

$(TORCH_STAMP): | $(TORCH)/bin/python
	$(TORCH)/bin/python -m pip install --quiet torch==2.15.0 numpy==2.3.5
	touch $@

$(TORCH)/bin/python:
	$(PYTHON) -m venv $(TORCH)

$(TOOLS)/bin/python:
	$(PYTHON) -m venv $(TOOLS)

$(JAX)/bin/python:
	$(PYTHON) -m venv $(JAX)

clean:
	rm -rf $(BUILD) target
