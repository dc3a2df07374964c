// The functions of examples/train_digits.c beside those of pjrt.h, which has names of its own for some of the same things.
#ifndef LXLA_BENCH_EXAMPLE_H
#define LXLA_BENCH_EXAMPLE_H

#pragma GCC diagnostic ignored "-Wunused-function"  // no benchmark calls all of them
#define main train_digits_main
#include "../examples/train_digits.c"
#undef main

#define by_value bench_by_value
#define env bench_env
#define device bench_device
#include "pjrt.h"
#undef env
#undef device
#undef by_value

#endif
