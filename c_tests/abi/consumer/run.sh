#!/usr/bin/env bash
# run.sh BUILD_TREE WORK_DIR CMAKE NINJA CC: installs the build tree, moves what was installed elsewhere, and builds and
# runs the consumer against it twice: by its CMake package, and by its pkg-config file.
set -euo pipefail

build_tree=$1 work=$2 cmake=$3 ninja=$4 cc=$5
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The library has to be found by what the consumer's build wrote down.
unset LD_LIBRARY_PATH

fail() {
  echo "consumer: $*" >&2
  exit 1
}

# The compiler flags of the .pc file $1: from pkg-config, or where that is missing, by its few rules.
flags_of() {
  if command -v pkg-config > /dev/null; then
    PKG_CONFIG_PATH=$(dirname "$1") pkg-config --cflags --libs lazyxla
    return
  fi
  local pcfiledir prefix libdir includedir flags
  pcfiledir=$(dirname "$1")
  line() { sed -n "s|^$2[=:] *||p" "$1"; }
  prefix=$(line "$1" prefix) && prefix=${prefix//'${pcfiledir}'/$pcfiledir}
  libdir=$(line "$1" libdir) && libdir=${libdir//'${prefix}'/$prefix}
  includedir=$(line "$1" includedir) && includedir=${includedir//'${prefix}'/$prefix}
  flags="$(line "$1" Cflags) $(line "$1" Libs)"
  flags=${flags//'${libdir}'/$libdir}
  echo "${flags//'${includedir}'/$includedir}"
}

# The program $1 asks for the library by its soname, not by a path.
needs_the_soname() {
  local needed
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*lazyxla.*\)\]/\1/p')
  [ "$needed" = liblazyxla.so.0 ] || fail "$1 needs '$needed', want liblazyxla.so.0"
}

mkdir -p "$work"
rm -rf "$work/first" "$work/moved" "$work/build" "$work/by_pkg_config"
work=$(cd "$work" && pwd)
"$cmake" --install "$build_tree" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/moved"

"$cmake" -S "$source" -B "$work/build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$ninja" "-DCMAKE_C_COMPILER=$cc" \
  "-DCMAKE_PREFIX_PATH=$work/moved" > /dev/null
"$cmake" --build "$work/build"
needs_the_soname "$work/build/consumer"
"$work/build/consumer"

pc=$(find "$work/moved" -name lazyxla.pc)
[ -f "$pc" ] || fail "lazyxla.pc was not installed"
grep -q '^prefix=${pcfiledir}/' "$pc" || fail "$pc does not find its prefix from where it lies"
lib=$(cd "$(dirname "$pc")/.." && pwd)
text=$(flags_of "$pc")
read -r -a flags <<< "$text"
"$cc" "$source/main.c" "${flags[@]}" "-Wl,-rpath,$lib" -o "$work/by_pkg_config"
needs_the_soname "$work/by_pkg_config"
"$work/by_pkg_config"

for program in build/consumer by_pkg_config; do
  loaded=$(ldd "$work/$program" | sed -n 's/.*liblazyxla.so.0 => \(.*\) (.*/\1/p')
  [ "$(realpath "$loaded")" = "$(realpath "$lib/liblazyxla.so.0")" ] || fail "$program loads $loaded"
done
echo "consumer: as installed and moved, by CMake and by pkg-config"
