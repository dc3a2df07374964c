// For benchmarks of examples/train_digits.c: the example without its main, and the helpers of bench.h.
#ifndef LXLA_BENCH_DIGITS_H
#define LXLA_BENCH_DIGITS_H

#define main train_digits_main
#include "../examples/train_digits.c"
#undef main

#include "bench.h"

#endif
