#!/usr/bin/env bash
# install.sh [--check] CMAKE TREE PREFIX [WITH_PLUGIN]: installs a build tree to PREFIX, below $DESTDIR if that is set,
# with the default plugin unless WITH_PLUGIN is 0. With --check, only whether that is allowed.
set -euo pipefail

fail() {
  echo "make install: $*" >&2
  exit 1
}

check=
if [ "$1" = --check ]; then
  check=1
  shift
fi
cmake=$1 tree=$2 prefix=$3 with_plugin=${4:-1}
case $with_plugin in
  0 | 1) ;;
  *) fail "INSTALL_PLUGIN is $with_plugin; want 1 (with the CPU plugin, 274 MB) or 0" ;;
esac
[ -n "$prefix" ] || fail "PREFIX is empty; want a folder, such as PREFIX=\$HOME/.local"
# What is printed, and the package files of some tools, hold in every folder.
case $prefix in
  /*) ;;
  '~' | '~/'*) fail "PREFIX is $prefix, which no shell has expanded; write PREFIX=\$HOME${prefix#\~}" ;;
  *) prefix=$PWD/$prefix ;;
esac

# The first folder of the path that exists has to be writable: told now, and not after minutes of building.
folder=${DESTDIR:-}$prefix
while [ ! -e "$folder" ]; do folder=$(dirname "$folder"); done
[ -d "$folder" ] || fail "PREFIX is $prefix, but $folder is a file; want a folder"
if [ ! -w "$folder" ]; then
  fail "no permission to write to $folder, for PREFIX=$prefix. Give a folder of yours, such as" \
    "\`make install PREFIX=\$HOME/.local\`, or become a user who may write there"
fi
[ -z "$check" ] || exit 0

"$cmake" --install "$tree" --prefix "$prefix" > /dev/null
if [ "$with_plugin" = 1 ]; then
  "$cmake" --install "$tree" --prefix "$prefix" --component plugin > /dev/null
fi
lib=${DESTDIR:-}$prefix/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$tree/CMakeCache.txt")
# So that programs find a library in a folder of the system, which is a root's business.
[ -n "${DESTDIR:-}" ] || [ "$(id -u)" != 0 ] || ldconfig || true

echo "installed to $lib$([ "$with_plugin" = 1 ] && echo ", with the CPU plugin")"
echo "compile a program with:"
# Not printed where pkg-config finds this installation, and not another one.
found=$(pkg-config --variable=pcfiledir lazyxla 2> /dev/null) || found=
if [ "$(realpath -m "${found:-/}")" != "$(realpath -m "$lib/pkgconfig")" ]; then
  echo "  export PKG_CONFIG_PATH='$lib/pkgconfig'"
fi
run_path=
if ! ldconfig -p 2> /dev/null | grep -F " $lib/liblazyxla.so.0" > /dev/null; then
  run_path=" -Wl,-rpath,'$lib'"
fi
compile="cc first.c \$(pkg-config --cflags --libs lazyxla)$run_path -o first"
# pkg-config writes a backslash before a space, which a shell has to read again.
case $lib in *[[:space:]]*) compile="eval \"$compile\"" ;; esac
echo "  $compile && ./first"
