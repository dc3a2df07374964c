#!/usr/bin/env bash
# Links README.md's first program with the installed package. It has no plugin: the program says where it looked for one.
set -euo pipefail
export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
unset LXLA_PJRT_PLUGIN PJRT_NAMES_AND_LIBRARY_PATHS
# The flags are words.
# shellcheck disable=SC2046
"${CC:-cc}" examples/first.c $(pkg-config --cflags --libs lazyxla) "-Wl,-rpath,$PREFIX/lib" -o first
said=$(PATH=/usr/bin:/bin ./first 2>&1) && {
  echo "a program ran without a plugin: $said" >&2
  exit 1
}
case $said in
  *"no PJRT plugin found"*) echo "linked, and started" ;;
  *)
    echo "without a plugin, the program says: $said" >&2
    exit 1
    ;;
esac
