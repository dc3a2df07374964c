#!/usr/bin/env bash
# Runs the C suite, the oracle, single operations on meshes and the demo on each plugin:
#   test_plugins.sh BUILD_TREE CTEST JOBS PLUGIN ...
# Tests that use no plugin (label `once`) are left out. LXLA_TEST_PLUGINS_SHORT=1 leaves out the tests with label
# `long` and the operations on meshes as well, for continuous integration.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1 ctest=$2 jobs=$3
shift 3
leave_out='^once$'
[ "${LXLA_TEST_PLUGINS_SHORT:-0}" = 0 ] || leave_out='^(once|long)$'
for plugin in "$@"; do
  export LXLA_PJRT_PLUGIN=$PWD/$plugin TF_CPP_MIN_LOG_LEVEL=1
  echo "=== $plugin"
  "$ctest" --test-dir "$tree" --output-on-failure -j "$jobs" -LE "$leave_out"
  cargo test --test oracle
  # One thread: xla-cpu-pjrt 0.0.1 corrupts its heap if many clients run at once.
  [ "${LXLA_TEST_PLUGINS_SHORT:-0}" != 0 ] || cargo test --test meshes -- --test-threads=1
  "$tree/examples/train_digits" examples/data/digits.csv
done
