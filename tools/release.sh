#!/usr/bin/env bash
# release.sh VERSION: makes and tries everything of a release, up to the upload, in build/release/VERSION: all packages,
# the wheel, the documentation, the changelog's section, checksums. From a clone of the commit, so that nothing else of
# the folder is in it. Needs what CONTRIBUTING.md lists, npm, abidiff, and root with mmdebstrap. The folder VERSION is
# made when everything has passed; before, the files are in VERSION.partial. A failure removes them, and leaves the
# clone.
# release.sh --prepare VERSION: gives the tree this version, to be looked at and committed.
# LXLA_RELEASE_SKIP: words of `tests`, `abi`, `root`, `docs`; what they name is not run, and the release is not to be
# uploaded. `tests` are all that continuous integration runs (.ci/run).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

fail() {
  echo "release: $*" >&2
  exit 1
}

case $root in
  *[[:space:]]*) fail "the folder '$root' has a space in its name, which RUSTFLAGS and CFLAGS cannot have: rename it" ;;
esac
for word in ${LXLA_RELEASE_SKIP:-}; do
  case $word in
    tests | abi | root | docs) ;;
    *) fail "LXLA_RELEASE_SKIP has '$word'; want words of: tests abi root docs" ;;
  esac
done

skipped() {
  case " ${LXLA_RELEASE_SKIP:-} " in *" $1 "*) return 0 ;; esac
  return 1
}

needed() {
  command -v "$1" > /dev/null || fail "$1 was not found; Debian: apt-get install $2"
}

if [ "${1:-}" = --prepare ]; then
  [ $# = 2 ] || fail "want one version: tools/release.sh --prepare 0.1.0"
  python3 tools/release.py prepare "$2" "$(date -u +%F)"
  cargo update --workspace --offline
  make header
  make abi WRITE=1
  python3 tools/release.py check "$2"
  git --no-pager diff --stat
  echo "look at the changes, commit them, and run tools/release.sh $2"
  exit 0
fi

[ $# = 1 ] || fail "want one version: tools/release.sh 0.1.0"
version=$1
python3 tools/release.py check "$version"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "files differ from the commit; commit them"
commit=$(git rev-parse HEAD)
tag=$(git rev-parse --verify --quiet "v$version^{commit}" || true)
[ -z "$tag" ] || [ "$tag" = "$commit" ] || fail "the tag v$version is another commit, $tag: raise the version"
needed dpkg-shlibdeps dpkg-dev
skipped docs || needed npm npm
skipped abi || needed abidiff abigail-tools
if ! skipped root; then
  needed mmdebstrap mmdebstrap
  [ "$(id -u)" = 0 ] || fail "the packages are tried in a clean root, which needs root; or set LXLA_RELEASE_SKIP=root"
fi

ready=$root/build/release/$version
output=$ready.partial
clone=$root/build/release/clone
rm -rf "$ready" "$output" "$clone"
mkdir -p "$output"

# Runs when the script ends, whatever the reason.
end() {
  local status=$?
  if [ -d "$output" ]; then
    rm -rf "$output"
    echo "release: failed with status $status; no files were kept. The clone is $clone" >&2
  fi
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

git clone --quiet --no-hardlinks "$root" "$clone"
git -C "$clone" checkout --quiet --detach "$commit"
cd "$clone"

skipped abi || make abi
skipped tests || .ci/run
make packages
skipped root || make test-packages
cp build/packages/lazyxla[-_]*.* "$output"
if ! skipped docs; then
  make docs
  epoch=$(git log -1 --format=%ct)
  tar --create --directory build --sort=name "--mtime=@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu \
    "--transform=s,^site,lazyxla-$version-docs," site | gzip --no-name --best > "$output/lazyxla-$version-docs.tar.gz"
fi

# Installs the wheel and its dependencies, from PyPI, in a new virtual environment, and runs it.
python3 -m venv build/tried
build/tried/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: "$output"/lazyxla-*.whl
said=$(TF_CPP_MIN_LOG_LEVEL=1 build/tried/bin/python -c \
  'import lazyxla as lx; x = lx.linspace(0, 1, 5); print(lx.__version__, float(lx.sum(x * x)))')
[ "$said" = "$version 1.875" ] || fail "the wheel says '$said', want '$version 1.875'"

python3 tools/release.py notes "$version" > "$output/lazyxla-$version.md"
(cd "$output" && sha256sum lazyxla[-_]*.* > SHA256SUMS && sha256sum --check --quiet SHA256SUMS && cat SHA256SUMS)
cd "$root"
rm -rf "$clone"
mv "$output" "$ready"
if [ -n "${LXLA_RELEASE_SKIP:-}" ]; then
  echo "skipped: $LXLA_RELEASE_SKIP. Do not upload $ready"
else
  echo "$ready is ready: git tag v$version $commit, and upload its files with lazyxla-$version.md as notes"
fi
