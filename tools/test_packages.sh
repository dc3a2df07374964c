#!/usr/bin/env bash
# test_packages.sh PACKAGES PLUGIN: installs the Debian packages in a clean Debian (mmdebstrap), links README.md's first
# program with them by pkg-config, runs it with the plugin, and removes them; the same with the archive, unpacked in a
# folder with a space in its name. As root; Debian's mirror is used.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=$1 plugin=$2
unset LXLA_PJRT_PLUGIN PJRT_NAMES_AND_LIBRARY_PATHS

fail() {
  echo "test_packages: $*" >&2
  exit 1
}

command -v mmdebstrap > /dev/null || fail "mmdebstrap was not found; Debian: apt-get install mmdebstrap"
[ "$(id -u)" = 0 ] || fail "it needs root, for chroot"
ls "$packages"/lazyxla_*.deb "$packages"/lazyxla-dev_*.deb > /dev/null || fail "no packages in $packages: make packages"
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
chmod 755 "$clean"
# As old as the library's libc allows, by its dependency.
mmdebstrap --variant=minbase --include=gcc,libc6-dev,pkg-config "${LXLA_DEBIAN:-bookworm}" "$clean" > /dev/null
cp "$packages"/lazyxla_*.deb "$packages"/lazyxla-dev_*.deb "$root/examples/first.c" "$clean/tmp"
in_root() { chroot "$clean" sh -ec "$1"; }

in_root 'dpkg -i /tmp/lazyxla_*.deb /tmp/lazyxla-dev_*.deb > /dev/null'
in_root 'cd /tmp && gcc first.c $(pkg-config --cflags --libs lazyxla) -o first'
said=$(in_root 'cd /tmp && ./first' 2>&1) && fail "a program ran without a plugin: $said"
case $said in
  *"no PJRT plugin found"*"pip install fastatomstruct-xla-cpu"*) ;;
  *) fail "without a plugin, a program says: $said" ;;
esac
folder=$(in_root 'dirname $(dpkg -L lazyxla | grep /lazyxla-probe$)')/fastatomstruct_xla_cpu
mkdir "$clean$folder"
cp "$plugin" "$clean$folder"
said=$(in_root 'cd /tmp && TF_CPP_MIN_LOG_LEVEL=1 ./first 2> /tmp/errors || cat /tmp/errors')
[ "$said" = "198 198 198" ] || fail "the first program prints '$said', want 198 198 198"
rm -r "$clean$folder"
in_root 'dpkg -r lazyxla-dev lazyxla > /dev/null'
left=$(in_root 'find /usr -name "*lazyxla*"')
[ -z "$left" ] || fail "the packages leave $left"

folder="$clean/opt/some folder"
mkdir "$folder"
tar --extract --directory "$folder" --file "$(ls "$packages"/lazyxla-*-x86_64-linux.tar.gz)" --strip-components=1
mkdir "$folder/lib/lazyxla/fastatomstruct_xla_cpu"
cp "$plugin" "$folder/lib/lazyxla/fastatomstruct_xla_cpu"
said=$(in_root 'cd /tmp && export PKG_CONFIG_PATH="/opt/some folder/lib/pkgconfig" && rm -f first
  eval gcc first.c $(pkg-config --cflags --libs lazyxla) "\"-Wl,-rpath,/opt/some folder/lib\"" -o first
  TF_CPP_MIN_LOG_LEVEL=1 ./first 2> /tmp/errors || cat /tmp/errors')
[ "$said" = "198 198 198" ] || fail "with the archive, the first program prints '$said', want 198 198 198"
echo "packages and archive: installed, linked, run and removed in a clean Debian"
