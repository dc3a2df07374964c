#!/usr/bin/env bash
# Runs the benchmarks of benches/README.md: run.sh FOLDER_OF_THE_PROGRAMS. JAX, the peer, goes to build/jax.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1
export TF_CPP_MIN_LOG_LEVEL=1
[ -x build/jax/bin/python ] || { python3 -m venv build/jax; build/jax/bin/python -m pip install --quiet jax==0.10.2 jaxlib==0.10.2; }
"$programs/bench_record"
echo
"$programs/bench_step"
echo
for round in 1 2 3; do
  "$programs/bench_digits" examples/data/digits.csv
  build/jax/bin/python benches/jax_digits.py examples/data/digits.csv
done
