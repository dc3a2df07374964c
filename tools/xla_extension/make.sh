#!/usr/bin/env bash
# Makes a folder that the crate `xla` =0.4.4 takes as XLA_EXTENSION_DIR, over the unpacked wheel tensorflow-cpu 2.21.0:
#   make.sh FOLDER_WITH_tensorflow TARGET
# The wheel has the headers and the libraries of XLA. It lacks the headers of MLIR and LLVM, of which the crate needs a
# few declarations (include/), and two functions that load PJRT plugins (stubs.cc). A linker script named as the library
# that the crate links puts the rest together.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(cd "$1/tensorflow" && pwd)
mkdir -p "$2/include" "$2/lib"
out=$(cd "$2" && pwd)
external=$wheel/include/external
link() { ln -sfn "$1" "$out/include/$2"; }
link "$external/dlpack/include/dlpack" dlpack
link "$external/highwayhash/highwayhash" highwayhash
link "$external/farmhash_archive/src/farmhash.h" farmhash.h
link "$external/com_google_highway/hwy" hwy
link "$external/com_github_grpc_grpc/include/grpc" grpc
link "$external/com_github_grpc_grpc/include/grpcpp" grpcpp
for folder in "$wheel"/include/*; do
  name=$(basename "$folder")
  [ -e "$out/include/$name" ] || link "$folder" "$name"
done
rm -rf "$out/include/mlir" "$out/include/llvm"
cp -r "$here/include/mlir" "$here/include/llvm" "$out/include/"
g++ -std=c++17 -O1 -w -DNDEBUG -fPIC -shared -I"$out/include" "$here/stubs.cc" -o "$out/lib/libxla_stubs.so"
for library in libtensorflow_cc.so.2 libtensorflow_framework.so.2; do
  ln -sfn "$wheel/$library" "$out/lib/$library"
done
echo "GROUP ( $out/lib/libxla_stubs.so $out/lib/libtensorflow_cc.so.2 $out/lib/libtensorflow_framework.so.2 )" \
  > "$out/lib/libxla_extension.so"
