#!/usr/bin/env bash
# Builds crates/xla-rs, the library with the engine over the crate xla, and runs the C suite, the oracle and the judges
# on it:
#   test_xla_rs.sh FOLDER CMAKE NINJA PYTHON
# FOLDER/libclang has libclang, and FOLDER/packages the wheel of tools/requirements/xla_rs.txt, unless XLA_EXTENSION_DIR
# is set: then that folder is used as it is. LXLA_JUDGE_TYPES, LXLA_JUDGE_PROGRAMS and LXLA_ORACLE_PLUGIN_PROGRAMS set
# how much is judged. LXLA_PJRT_PLUGIN is the plugin whose values are compared with the crate's.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(cd "$1" && pwd) cmake=$2 ninja=$3 python=$4
if [ -z "${XLA_EXTENSION_DIR:-}" ]; then
  XLA_EXTENSION_DIR=$folder/extension
  tools/xla_extension/make.sh "$folder/packages" "$XLA_EXTENSION_DIR"
fi
for file in include/xla lib/libxla_extension.so; do
  if [ ! -e "$XLA_EXTENSION_DIR/$file" ]; then
    echo "XLA_EXTENSION_DIR is $XLA_EXTENSION_DIR, which has no $file; want a build of xla_extension for the crate xla 0.4.4" >&2
    exit 1
  fi
done
export XLA_EXTENSION_DIR
LIBCLANG_PATH=$(dirname "$(find "$folder/libclang" -name 'libclang.so' | head -n 1)")
export LIBCLANG_PATH BINDGEN_EXTRA_CLANG_ARGS="-I$(gcc -print-file-name=include)"
export LXLA_ENGINE=xla-rs TF_CPP_MIN_LOG_LEVEL=2
# The engine asks for these: see docs/plugins.md.
export XLA_FLAGS="--xla_cpu_enable_fast_min_max=false --xla_allow_excess_precision=false --xla_cpu_use_fusion_emitters=false"
# A build tree and a cargo folder of their own: nobody else pays for the crate.
export CARGO_TARGET_DIR=$folder/target
"$cmake" -S . -B "$folder/cmake" -G Ninja -DLAZYXLA_PYTHON=OFF -DCMAKE_MAKE_PROGRAM="$ninja" -DPython3_EXECUTABLE="$python" \
  -DLAZYXLA_LIBRARY_PACKAGE=lazyxla-xla-rs -DLAZYXLA_CARGO_TARGET="$folder/target" > /dev/null
"$cmake" --build "$folder/cmake"
status=0
"$python" tools/xla_rs_suite.py "$folder/cmake" "$folder/cmake/lib/liblazyxla.so" || status=$?
package="--release --package lazyxla-xla-rs"
# `make check` lints the crates that need no XLA_EXTENSION_DIR.
cargo clippy --package lazyxla-xla-rs --all-targets -- -D warnings || status=$?
cargo test $package --lib || status=$?
cargo test $package --test oracle -- on_the_plugin error_bound --nocapture || status=$?
cargo test $package --test shapes -- --nocapture || status=$?

# The same random programs on this engine and on a plugin, in two processes (see tests/oracle/judge). The second does
# not link the crate.
values=$folder/values
rm -rf "$values"
mkdir "$values"
LXLA_JUDGE_WRITE=$values cargo test $package --test oracle -- --ignored on_two_engines --nocapture || status=$?
env -u LXLA_ENGINE -u XLA_FLAGS LXLA_JUDGE_READ="$values" \
  cargo test --release --test oracle -- --ignored on_two_engines --nocapture || status=$?
exit $status
