#!/usr/bin/env bash
# Runs the thread tests under ThreadSanitizer: tsan.sh SECONDS_OF_SOAK. The library is compiled with it, by the
# compiler's unstable flag; the plugin and Rust's standard library are not, hence tools/tsan.supp.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
out=build/tsan
plugin=$PWD/build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so
header=$PWD/build/plugins/xla_plugins/xla_cpu_pjrt/include
host=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p "$out"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
  cargo build --release --lib --target "$host" --target-dir "$out/target"
library=$PWD/$out/target/$host/release
ln -sf liblazyxla.so "$library/liblazyxla.so.0"

# What the compiler calls and an older libtsan lacks; the functions behind them are intercepted.
cat > "$out/missing.c" <<'C'
#include <string.h>
void *__tsan_memset(void *to, int c, size_t n) { return memset(to, c, n); }
void *__tsan_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
void *__tsan_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }
C
define=(-DLXLA_TEST_PLUGIN="\"$plugin\"" -DLXLA_FAULT_PLUGIN="\"$PWD/$out/fault_plugin.so\"")
gcc -fPIC -shared -fvisibility=hidden "${define[@]}" -I"$header" c_tests/faults/fault_{plugin,processes,options}.c \
  -o "$out/fault_plugin.so" -ldl -lpthread
export LXLA_PJRT_PLUGIN=$plugin LD_LIBRARY_PATH=$library TF_CPP_MIN_LOG_LEVEL=1
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp report_mutex_bugs=0 detect_deadlocks=0 halt_on_error=1"
for test in "behaviours/test_threads" "faults/soak_threads $seconds"; do
  read -r source arguments <<< "$test"
  name=$(basename "$source")
  gcc -g -fsanitize=thread -fno-builtin -rdynamic "${define[@]}" -Iinclude -Ic_tests/support -Ic_tests/faults \
    "c_tests/$source.c" "$out/missing.c" -o "$out/$name" -L"$library" -llazyxla -lm -ldl -lpthread
  # shellcheck disable=SC2086
  "$out/$name" $arguments
done
