#!/usr/bin/env bash
# run.sh BUILD_TREE WORK_DIR CMAKE NINJA CC: installs the build tree with the plugin as `make install` does, moves what
# was installed elsewhere, and builds and runs the consumer against it without any variable: by its CMake package and by
# its pkg-config file; then against the source tree, by add_subdirectory and FetchContent.
set -euo pipefail

build_tree=$(cd "$1" && pwd) work=$2 cmake=$3 ninja=$4 cc=$5
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$source/../../.." && pwd)
# The library has to be found by what the consumer's build wrote down, and the plugin beside the library.
unset LD_LIBRARY_PATH LXLA_PJRT_PLUGIN PJRT_NAMES_AND_LIBRARY_PATHS DESTDIR

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
  pcfiledir=${pcfiledir// /\\ }
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

# A command is refused with words.
refuses() {
  local words=$1 said
  shift
  if said=$("$@" 2>&1); then fail "accepted: $*"; fi
  case $said in
    *"$words"*) ;;
    *) fail "$* says '$said', want '$words'" ;;
  esac
}

# Configures, builds and runs the consumer in build folder $1 with options.
consume() {
  local build=$1
  shift
  "$cmake" -S "$source" -B "$build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$ninja" "-DCMAKE_C_COMPILER=$cc" "$@" > /dev/null
  "$cmake" --build "$build"
  needs_the_soname "$build/consumer"
  "$build/consumer"
}

mkdir -p "$work"
work=$(cd "$work" && pwd)
rm -rf "$work/first" "$work/moved to" "$work/build" "$work/by_pkg_config" "$work/sub" "$work/fetched" "$work/closed" \
  "$work/clean" "$work/of clean" "$work/hints" "$work/of hints"
install=("$root/tools/install.sh" "$cmake" "$build_tree")
check=("$root/tools/install.sh" --check "$cmake" "$build_tree")
# A prefix may be relative; the lines that are printed compile and run a program.
mkdir "$work/hints"
cp "$root/examples/first.c" "$work/hints"
for prefix in "of hints" first; do
  said=$(cd "$work" && "${install[@]}" "$prefix" 1)
  (cd "$work/hints" && eval "$(sed -n 's/^  //p' <<< "$said")") || fail "what make install prints fails: $said"
  case $said in
    *"installed to $work/$prefix/"*"cc first.c"*) ;;
    *) fail "make install prints '$said'" ;;
  esac
done
rm -r "$work/of hints"
[ -f "$work/first/share/doc/lazyxla/docs/operations.md" ] || fail "the documents are not installed"
[ -f "$work/first/share/lazyxla/lazyxla.f90" ] || fail "the Fortran module is not installed"
mv "$work/first" "$work/moved to"
moved="$work/moved to"

consume "$work/build" "-DCMAKE_PREFIX_PATH=$moved"

pc=$(find "$moved" -name lazyxla.pc)
[ -f "$pc" ] || fail "lazyxla.pc was not installed"
grep -q '^prefix=${pcfiledir}/' "$pc" || fail "$pc does not find its prefix from where it lies"
lib=$(cd "$(dirname "$pc")/.." && pwd)
text=$(flags_of "$pc")
# As a shell reads them: a backslash precedes the space in the name of the folder.
eval "flags=($text)"
"$cc" "$source/main.c" "${flags[@]}" "-Wl,-rpath,$lib" -o "$work/by_pkg_config"
needs_the_soname "$work/by_pkg_config"
"$work/by_pkg_config"

for program in build/consumer by_pkg_config; do
  loaded=$(ldd "$work/$program" | sed -n 's/.*liblazyxla.so.0 => \(.*\) (.*/\1/p')
  [ "$(realpath "$loaded")" = "$(realpath "$lib/liblazyxla.so.0")" ] || fail "$program loads $loaded"
done

# A tree in which nothing is built but the target of `make install` has all files of an installation, also with MPI.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build_tree/CMakeCache.txt"; }
from_tree=()
for variable in LAZYXLA_CARGO_TARGET LAZYXLA_CARGO_PROFILE CARGO; do
  from_tree+=("-D$variable=$(cached $variable)")
done
"$cmake" -S "$root" -B "$work/clean" -G Ninja "-DCMAKE_MAKE_PROGRAM=$ninja" "-DCMAKE_C_COMPILER=$cc" "${from_tree[@]}" \
  > /dev/null
"$cmake" --build "$work/clean" --target lazyxla_to_install
"$root/tools/install.sh" "$cmake" "$work/clean" "$work/of clean" 0
(cd "$moved" && find . -type f ! -path "./$(basename "$lib")/lazyxla/fastatomstruct*") | sort > "$work/of_built"
(cd "$work/of clean" && find . -type f) | sort | diff "$work/of_built" - || fail "a clean tree installs other files"
rm -r "$work/clean" "$work/of clean"

# As a part of another project, with the library that cargo has built for this tree.
# The plugin of the source tree's build folder is found by a library inside the tree only: an option puts it beside the
# library of the other project.
for how in sub fetched; do
  consume "$work/$how" "-DLAZYXLA_SOURCE=$root" -DHOW=$how -DLAZYXLA_PLUGIN=ON "${from_tree[@]}"
  [ -n "$(find "$work/$how" -name libpjrt_cpu.so)" ] || fail "LAZYXLA_PLUGIN=ON put no plugin into $work/$how"
done

# Wrong prefixes are refused before anything is built.
echo text > "$work/file"
refuses "is a file; want a folder" "${check[@]}" "$work/file/below"
refuses "PREFIX is empty" "${check[@]}" ""
refuses "write PREFIX=\$HOME/.local" "${check[@]}" "~/.local"
refuses "INSTALL_PLUGIN is 2" "${check[@]}" "$work/first" 2
mkdir "$work/closed"
chmod 555 "$work/closed"
if [ "$(id -u)" != 0 ]; then
  refuses "no permission to write to $work/closed" "${check[@]}" "$work/closed/below"
elif command -v setpriv > /dev/null && setpriv --reuid=65534 --clear-groups test -r "$root/tools/install.sh"; then
  refuses "no permission to write to $work/closed" setpriv --reuid=65534 --clear-groups "${check[@]}" "$work/closed/below"
fi
rm -r "$moved"
echo "consumer: installed and moved, by CMake and by pkg-config; as a part of another project"
