#!/usr/bin/env bash
# Builds the library in the source tree and installs it to $PREFIX, for recipe.yaml. No plugin: $LXLA_PJRT_PLUGIN names
# one, or it is put beside the library.
set -euo pipefail
tree=build/conda
# The library looks for no plugin in the folder in which it was built.
export LXLA_RELEASE=1
cmake -S . -B "$tree" -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$PREFIX" \
  -DCMAKE_INSTALL_LIBDIR=lib "-DLAZYXLA_CARGO_TARGET=$PWD/$tree/target" \
  -DLAZYXLA_TESTS=OFF -DLAZYXLA_EXAMPLES=OFF -DLAZYXLA_MPI=OFF -DLAZYXLA_PYTHON=OFF
cmake --build "$tree"
python3 tools/licenses.py "$tree/package"
for component in library development; do
  cmake --install "$tree" --component $component
done
