#!/usr/bin/env bash
# packages.sh CMAKE NINJA OUTPUT [CMAKE_OPTION ...]: makes all files of a release in OUTPUT: the source as an archive,
# the installed library as an archive and as two Debian packages, the Python package as a wheel, with the licences of
# what is in them, a bill of materials and checksums. The Python beside CMAKE has auditwheel. The same commit gives the
# same bytes: see docs/packages.md.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

fail() {
  echo "packages: $*" >&2
  exit 1
}

cargo_home=${CARGO_HOME:-$HOME/.cargo}
for folder in "$root" "$cargo_home"; do
  case $folder in
    *[[:space:]]*)
      fail "the folder '$folder' has a space in its name, which RUSTFLAGS and CFLAGS cannot have: rename it" ;;
  esac
done
cmake=$1 ninja=$2 output=$3
python=$(dirname "$cmake")/python
shift 3
for tool in dpkg-shlibdeps git gzip tar; do
  command -v $tool > /dev/null || fail "$tool was not found; Debian: apt-get install dpkg-dev git gzip tar"
done
git rev-parse --verify --quiet HEAD > /dev/null ||
  fail "$root is not a git repository; the version of its files is unknown"
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  [ -n "${LXLA_PACKAGE_CHANGED:-}" ] || fail "files differ from the commit; commit them, or set LXLA_PACKAGE_CHANGED=1"
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
mkdir -p "$output"
output=$(cd "$output" && pwd)
tree=$output/tree
rm -f "$output"/lazyxla[-_]* "$output"/SHA256SUMS

# Nothing of the machine in the files: times are those of the commit, paths are those of no folder.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
remap="--remap-path-prefix=$root=/lazyxla --remap-path-prefix=$cargo_home=/cargo"
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC RUSTFLAGS="$remap" LXLA_RELEASE=1
export CFLAGS="-ffile-prefix-map=$root=/lazyxla"
umask 022

git archive --format=tar --prefix="lazyxla-$version/" HEAD | gzip --no-name --best > "$output/lazyxla-$version.tar.gz"

# An earlier run that failed may have left the archive's lib/.
"$cmake" -S . -B "$tree" -UCMAKE_INSTALL_LIBDIR -G Ninja "-DCMAKE_MAKE_PROGRAM=$ninja" -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_BUILD_TYPE=Release -DLAZYXLA_TESTS=OFF -DLAZYXLA_EXAMPLES=OFF -DLAZYXLA_MPI=OFF -DLAZYXLA_PYTHON=OFF \
  "-DLAZYXLA_CARGO_TARGET=$tree/target" "$@" > /dev/null
"$cmake" --build "$tree"
"$python" tools/licenses.py "$tree/package"
cp "$tree/package/lazyxla.cdx.json" "$output/lazyxla-$version.cdx.json"
(cd "$tree" && "$(dirname "$cmake")/cpack" -G DEB > /dev/null)
mv "$tree"/lazyxla*.deb "$output"

# The wheel, and the archive, which unpacks to one folder, from anywhere: lib/ in place of Debian's folder.
name=lazyxla-$version-$(uname -m)-linux
"$cmake" -B "$tree" -DCMAKE_INSTALL_LIBDIR=lib -DLAZYXLA_PYTHON=ON "-DPython3_EXECUTABLE=$python" > /dev/null
"$cmake" --build "$tree" --target lazyxla_python
"$python" tools/wheel.py wheel --stage "$tree/python" --to "$output"
rm -rf "${tree:?}/$name"
for component in library development; do
  "$cmake" --install "$tree" --prefix "$tree/$name" --component $component > /dev/null
done
"$cmake" -B "$tree" -UCMAKE_INSTALL_LIBDIR -DLAZYXLA_PYTHON=OFF > /dev/null
tar --create --directory "$tree" --sort=name "--mtime=@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  --format=gnu "$name" | gzip --no-name --best > "$output/$name.tar.gz"

(cd "$output" && sha256sum lazyxla[-_]*.* > SHA256SUMS && cat SHA256SUMS)
