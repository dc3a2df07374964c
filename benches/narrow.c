// Times transpose(x) * g on the CPU plugin, straight through PJRT: as one product, which XLA computes with x
// transposed, and as the transpose of transpose(g) * x, as crates/ops/src/linalg/narrow.rs writes it where g has fewer
// columns.
//
//   bench_narrow
#include "bench.h"
#include "pjrt.h"

#define REPEATS 40

static const char WHOLE[] =
    "func.func public @main(%%x: tensor<%dx%dxf32>, %%g: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n"
    "  %%r = stablehlo.dot_general %%x, %%g, contracting_dims = [0] x [0] : (tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> "
    "tensor<%dx%dxf32>\n"
    "  return %%r : tensor<%dx%dxf32>\n}\n";

static const char TURNED[] =
    "func.func public @main(%%x: tensor<%dx%dxf32>, %%g: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n"
    "  %%p = stablehlo.dot_general %%g, %%x, contracting_dims = [0] x [0] : (tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> "
    "tensor<%dx%dxf32>\n"
    "  %%q = stablehlo.optimization_barrier %%p : tensor<%dx%dxf32>\n"
    "  %%r = stablehlo.transpose %%q, dims = [1, 0] : (tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n"
    "  return %%r : tensor<%dx%dxf32>\n}\n";

static PJRT_LoadedExecutable *whole(int rows, int in, int out) {
  char text[2048];
  snprintf(text, sizeof text, WHOLE, rows, in, rows, out, in, out, rows, in, rows, out, in, out, in, out);
  return pjrt_compile(text);
}

static PJRT_LoadedExecutable *turned(int rows, int in, int out) {
  char text[2048];
  snprintf(text, sizeof text, TURNED, rows, in, rows, out, in, out, rows, out, rows, in, out, in, out, in, out, in, in,
           out, in, out);
  return pjrt_compile(text);
}

static PJRT_Buffer *zeros(int rows, int columns) {
  float *data = calloc((size_t)(rows * columns), sizeof *data);
  if (!data) STOP("no memory for %d x %d elements", rows, columns);
  PJRT_Buffer *buffer = pjrt_buffer(PJRT_Buffer_Type_F32, (const int64_t[]){rows, columns}, 2, data);
  free(data);
  return buffer;
}

static double microseconds(PJRT_LoadedExecutable *executable, PJRT_Buffer **arguments) {
  PJRT_Buffer *result;
  double start = now();
  pjrt_run(executable, arguments, 2, &result, 1);
  double time = now() - start;
  pjrt_destroy(result);
  return time;
}

int main(void) {
  static const int sizes[][3] = {{128, 256, 10}, {64, 512, 10},     {128, 1024, 4},   {512, 1024, 32}, {16, 512, 32},
                                 {16, 64, 4},    {1024, 1024, 256}, {1024, 512, 128}, {128, 1024, 64}};
  pjrt_start();
  puts("| x | g | as one product, us | turned, us | turned / as one |\n|---|---|---|---|---|");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int rows = sizes[i][0], in = sizes[i][1], out = sizes[i][2];
    PJRT_Buffer *arguments[] = {zeros(rows, in), zeros(rows, out)};
    PJRT_LoadedExecutable *executables[] = {whole(rows, in, out), turned(rows, in, out)};
    double times[2][REPEATS];
    for (int k = 0; k < REPEATS; k++)
      for (int e = 0; e < 2; e++) times[e][k] = microseconds(executables[e], arguments);
    double one = median(times[0], REPEATS), other = median(times[1], REPEATS);
    printf("| %d x %d | %d x %d | %.0f | %.0f | %.2f |\n", rows, in, rows, out, one, other, other / one);
    pjrt_destroy(arguments[0]), pjrt_destroy(arguments[1]);
  }
  return 0;
}
