#!/usr/bin/env bash
# Runs the benchmarks of benches/README.md: run.sh FOLDER_OF_THE_PROGRAMS. JAX, the peer, is in build/jax (make bench).
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1
export TF_CPP_MIN_LOG_LEVEL=1
[ -x build/jax/bin/python ] || { echo "$0: no JAX in build/jax; run: make bench" >&2; exit 1; }
"$programs/bench_record"
"$programs/bench_gradients"
echo
"$programs/bench_step"
"$programs/bench_reads"
echo
for round in 1 2 3; do
  "$programs/bench_digits" examples/data/digits.csv
  build/jax/bin/python benches/jax_digits.py examples/data/digits.csv
done
echo
build/jax/bin/python benches/jax_step_real.py examples/data/digits.csv "$programs/bench_step_real"
echo
build/jax/bin/python benches/jax_random_compile.py "$programs/../lib/liblazyxla.so"
build/jax/bin/python benches/jax_import_compile.py "$programs/../lib/liblazyxla.so"
build/jax/bin/python benches/numpy_functions.py "$programs/../lib/liblazyxla.so"
PYTHONPATH=$programs/../python build/tools/bin/python benches/numpy_indexing.py
build/jax/bin/python benches/jax_sort.py "$programs/../lib/liblazyxla.so"
build/jax/bin/python benches/numpy_linalg.py "$programs/../lib/liblazyxla.so"
build/jax/bin/python benches/numpy_linalg.py "$programs/../lib/liblazyxla.so" --lazy
echo
"$programs/bench_scan"
echo
"$programs/bench_narrow"
echo
build/jax/bin/python benches/jax_llama.py "$programs/bench_llama"
echo
"$programs/bench_mesh"
build/jax/bin/python benches/jax_mesh_digits.py examples/data/digits.csv "$programs/bench_mesh"
"$programs/bench_mesh_llama"
echo
"$programs/bench_save" 1000 "$programs"
"$programs/bench_disk" "$programs"
echo
"$programs/bench_digits_save" examples/data/digits.csv "$programs"
echo
build/tools/bin/python benches/numpy_native.py "$programs/bench_native"
echo
"$programs/bench_chains"
echo
"$programs/bench_cut"
echo
"$programs/bench_kernels"
echo
"$programs/bench_import" "$programs"
echo
"$programs/bench_seeing" "$programs"
echo
"$programs/bench_executables" "$programs"
