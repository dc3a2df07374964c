#!/usr/bin/env bash
# mermaid.sh FOLDER: writes mermaid.min.js, which draws the diagrams of the documentation, and its licence to FOLDER.
# From npm's registry, at a fixed version by hash.
set -euo pipefail
version=12.3.0
hash=be0684e8d20bfc874df12c0f04927a5c482f57f2200eec54cca52a4583fd4040
command -v npm > /dev/null || {
  echo "mermaid.sh: npm was not found; Debian: apt-get install npm" >&2
  exit 1
}
mkdir -p "$1"
to=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "mermaid@$version" > /dev/null
echo "$hash  mermaid-$version.tgz" | sha256sum --check --quiet
tar --extract --file "mermaid-$version.tgz" package/dist/mermaid.min.js package/LICENSE
mv package/dist/mermaid.min.js package/LICENSE "$to"
