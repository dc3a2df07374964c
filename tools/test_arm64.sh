#!/usr/bin/env bash
# Builds the library for Linux on arm64 and runs tests under QEMU's user emulation:
#   test_arm64.sh FOLDER CMAKE NINJA CTEST
# FOLDER/plugins has the plugin for arm64. The library is built for debugging. Random programs are fewer, and the C suite
# compiles without LLVM's optimizations, since a compile takes seconds under emulation. Of the C suite, the tests run
# whose subjects depend on the processor: kernels, dtypes, numbers, files, keys, donation. Tests that start programs are
# left out, since the kernel runs them without the emulator, and test_native, which finds the default plugin, of the
# machine's own processor.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 cmake=$2 ninja=$3 ctest=$4
triple=aarch64-unknown-linux-gnu
root=/usr/aarch64-linux-gnu

fail() {
  echo "test-arm64: $*" >&2
  exit 1
}

for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++; do
  command -v $tool > /dev/null ||
    fail "$tool was not found; Debian:" \
      "apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross"
done
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
  fail "there is no emulator; Debian: apt-get install qemu-user-static"
[ -d "$(rustc --print target-libdir --target $triple)" ] ||
  fail "Rust's library for $triple is not installed: rustup target add $triple; with Debian's compiler" \
    "(RUSTC=/usr/bin/rustc): dpkg --add-architecture arm64, apt-get install rustc-web libstd-rust-web-dev:arm64"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$qemu -L $root"
export LXLA_PJRT_PLUGIN=$PWD/$folder/plugins/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so TF_CPP_MIN_LOG_LEVEL=1
export LXLA_ORACLE_PROGRAMS=${LXLA_ORACLE_PROGRAMS:-1000} LXLA_ORACLE_PLUGIN_PROGRAMS=${LXLA_ORACLE_PLUGIN_PROGRAMS:-40}
# Left out: meshes, for which a compile takes ten times as long; what QEMU does not do as Linux does (reading a page
# beyond a file's end, starting a program that is not there); a race that needs runs that take longer than their start.
cargo test --target $triple --target-dir "$folder/target" --lib --test oracle -- --skip e6_meshes \
  --skip the_number_of_runs_in_flight --skip files_whose_pages_cannot_be_read --skip programs_that_are_no_probe

"$cmake" -S . -B "$folder/tree" -G Ninja "-DCMAKE_MAKE_PROGRAM=$ninja" -DLAZYXLA_MPI=OFF \
  "-DLAZYXLA_TEST_PLUGIN=$LXLA_PJRT_PLUGIN" -DLAZYXLA_CARGO_PROFILE=dev \
  -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake \
  "-DLAZYXLA_CARGO_TARGET=$PWD/$folder/target" > /dev/null
"$cmake" --build "$folder/tree"
tests='test_(key|donation|sync|native_computation|derivatives|save|files|kernels|handles|elementwise|'
tests+='elementwise_bits|elementwise_edges|elementwise_complex|shape|indexing|sorting|reduction|linalg|linalg_products|'
tests+='nn|dtypes|scalars|arguments)|header_c.*'
XLA_FLAGS=${XLA_FLAGS:---xla_backend_optimization_level=0} \
  "$ctest" --test-dir "$folder/tree" --output-on-failure -j "$(nproc)" -R "^($tests)\$"
