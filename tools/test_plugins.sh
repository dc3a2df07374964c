#!/usr/bin/env bash
# Runs the C suite, the oracle, single operations on meshes and the demo on each plugin:
#   test_plugins.sh BUILD_TREE CTEST JOBS PLUGIN ...
# Tests that use no plugin (label `once`) are left out. For continuous integration, LXLA_TEST_PLUGINS=short leaves out
# the tests with label `long` and the operations on meshes as well, and LXLA_TEST_PLUGINS=numbers runs only the tests
# with label `numbers` that are not long, the oracle and the demo.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1 ctest=$2 jobs=$3
shift 3
size=${LXLA_TEST_PLUGINS:-all}
case $size in
  all) choice=(-LE '^once$') ;;
  short) choice=(-LE '^(once|long)$') ;;
  numbers) choice=(-L '^numbers$' -LE '^(once|long)$') ;;
  *)
    echo "LXLA_TEST_PLUGINS is '$size'; want all, short or numbers" >&2
    exit 1
    ;;
esac
for plugin in "$@"; do
  export LXLA_PJRT_PLUGIN=$PWD/$plugin TF_CPP_MIN_LOG_LEVEL=1
  echo "=== $plugin"
  "$ctest" --test-dir "$tree" --output-on-failure -j "$jobs" "${choice[@]}"
  cargo test --test oracle
  # One thread: xla-cpu-pjrt 0.0.1 corrupts its heap if many clients run at once.
  [ "$size" != all ] || cargo test --test meshes -- --test-threads=1
  "$tree/examples/train_digits" examples/data/digits.csv
done
