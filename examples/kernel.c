// The progress of a loop, printed from inside a compiled program: while (i < 4) { x = x * x; print; i = i + 1; }.
#include "frontend.h"

static int32_t show(const lxla_kernel_call *call, void *user) {
  const float *values = call->inputs[0].data;
  printf("iteration %g: %g\n", values[0], values[1]);
  ++*(int *)user;
  return 0;
}

int main(void) {
  int calls = 0;
  const int64_t dims[] = {1};
  lxla_tensor in[] = {placeholder(dims, 1), placeholder(dims, 1)}, next[2], both, less, bound;
  // The condition: i < 4.
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, NULL, 0, 4, &bound));
  lxla_tensor i;
  TRY(lxla_reshape(in[0], NULL, 0, &i));
  TRY(lxla_compare(LXLA_COMPARE_LT, i, bound, &less));
  lxla_computation condition, body;
  TRY(lxla_computation_trace(in, 2, &less, 1, &condition));
  // The body. Calls are part of the computation on whose parameters they depend.
  TRY(lxla_binary_scalar(LXLA_BINARY_ADD, in[0], 1, &next[0]));
  TRY(lxla_binary(LXLA_BINARY_MULTIPLY, in[1], in[1], &next[1]));
  TRY(lxla_concatenate(next, 2, 0, &both));
  lxla_kernel_options options = {.struct_size = sizeof options, .ordered = LXLA_ON};
  TRY(lxla_host_call(env, show, &calls, &options, &both, 1, NULL, NULL, NULL, 0, NULL));
  TRY(lxla_computation_trace(in, 2, next, 2, &body));
  lxla_tensor start[2], end[2];
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, 1, 0, &start[0]));
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, 1, 2, &start[1]));
  TRY(lxla_while(condition, body, start, 2, end));
  TRY(lxla_mark_step(env, device, 1));
  CHECK(first_value(end[1], 1) == 65536);
  CHECK(calls == 4);
  TRY(lxla_computation_release(condition));
  TRY(lxla_computation_release(body));
  lxla_tensor all[] = {in[0], in[1], next[0], next[1], both, less, bound, i, start[0], start[1], end[0], end[1]};
  TRY(lxla_tensor_release_many(all, 12));
  return 0;
}
