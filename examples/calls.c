// A call, with its result, of functions that the other examples do not use. The reference of the C API shows them.
#include "frontend.h"

enum { F32 = LXLA_DTYPE_F32, S32 = LXLA_DTYPE_S32, THREE_FRY = LXLA_RNG_THREE_FRY };

static int near_all(lxla_tensor x, size_t n, const float *want) {
  float got[16];
  CHECK(n <= 16);
  TRY(lxla_tensor_read(x, got, n * sizeof *got));
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(got[i] - want[i]) <= 1e-5f * fmaxf(1, fabsf(want[i])))) return 0;
  return 1;
}
#define NEAR(x, ...) near_all(x, sizeof((float[]){__VA_ARGS__}) / sizeof(float), (float[]){__VA_ARGS__})

static lxla_tensor numbers(const int32_t *data, int64_t n) {
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, device, S32, &n, 1, data, (size_t)n * sizeof *data, &out));
  return out;
}

static void linear_algebra(void) {
  lxla_tensor a = from_floats(device, DIMS(2, 2), (float[]){2, 1, 1, 3});
  lxla_tensor b = from_floats(device, DIMS(2, 1), (float[]){3, 5});
  lxla_tensor x;
  TRY(lxla_solve(a, b, &x));  // a x = b
  CHECK(NEAR(x, 0.8f, 1.4f));

  lxla_tensor determinant, sign, logarithm;
  TRY(lxla_determinant(a, &determinant));
  TRY(lxla_slogdet(a, &sign, &logarithm));
  CHECK(NEAR(determinant, 5) && NEAR(sign, 1) && NEAR(logarithm, logf(5)));

  lxla_tensor inverse_square, exponential;
  TRY(lxla_matrix_power(a, -2, &inverse_square));
  TRY(lxla_matrix_exponential(a, &exponential));
  CHECK(NEAR(inverse_square, 0.4f, -0.2f, -0.2f, 0.2f));

  lxla_tensor factors, pivots, same;
  TRY(lxla_ldl(a, 0, &factors, &pivots));  // of a symmetric matrix, which need not be positive definite
  TRY(lxla_ldl_solve(factors, pivots, b, 0, &same));
  CHECK(NEAR(same, 0.8f, 1.4f));

  lxla_tensor sizes, values, vectors;
  TRY(lxla_singular_values(a, &sizes));  // the largest one first
  TRY(lxla_eig(a, &values, &vectors));   // complex, in no order
  CHECK(NEAR(sizes, 3.618034f, 1.381966f));
  RELEASE(a, b, x, determinant, sign, logarithm, inverse_square, exponential, factors, pivots, same, sizes, values,
          vectors);
}

static void reductions(void) {
  lxla_tensor x = from_floats(device, DIMS(5), (float[]){1, 2, 3, 4, 5});
  lxla_tensor ids = numbers((int32_t[]){0, 0, 2, 1, 2}, 5);
  lxla_tensor sums;
  TRY(lxla_segment_reduce(LXLA_REDUCE_SUM, x, ids, 3, &sums));
  CHECK(NEAR(sums, 3, 4, 8));

  lxla_tensor logarithms;
  TRY(lxla_cumulative_logaddexp(x, 0, 0, &logarithms));

  lxla_tensor none = {0}, y, mean, inverse_deviation;
  TRY(lxla_layer_norm_with_statistics(x, DIMS(0), none, none, 1e-5, &y, &mean, &inverse_deviation));
  CHECK(NEAR(mean, 3));

  lxla_tensor mask, values = from_floats(device, DIMS(3), (float[]){30, 40, 50}), assigned;
  TRY(lxla_compare_scalar(LXLA_COMPARE_GT, x, 2, &mask));
  TRY(lxla_mask_assign(x, mask, values, &assigned));  // x[x > 2] = values
  CHECK(NEAR(assigned, 1, 2, 30, 40, 50));
  lxla_tensor is_before;
  TRY(lxla_compare_total_order(LXLA_COMPARE_LT, x, assigned, &is_before));  // -NaN < -infinity < -0 < 0 < NaN
  RELEASE(is_before);
  RELEASE(x, ids, sums, logarithms, y, mean, inverse_deviation, mask, values, assigned);
}

static void random_numbers(void) {
  uint32_t words[] = {0, 42};
  lxla_tensor key;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), words, sizeof words, &key));
  lxla_tensor waits, extremes, errors, weights;
  TRY(lxla_random_exponential(THREE_FRY, key, F32, DIMS(4), &waits));
  TRY(lxla_random_gumbel(THREE_FRY, key, F32, DIMS(4), &extremes));
  TRY(lxla_random_laplace(THREE_FRY, key, F32, DIMS(4), &errors));
  TRY(lxla_random_truncated_normal(THREE_FRY, key, F32, DIMS(4), -2, 2, &weights));  // between -2 and 2

  lxla_tensor dice, logits = from_floats(device, DIMS(3), (float[]){0, -INFINITY, -INFINITY}), classes;
  int32_t thrown[4], drawn[4];
  TRY(lxla_random_integers(THREE_FRY, key, S32, DIMS(4), 1, 7, &dice));  // 1 to 6
  TRY(lxla_random_categorical(THREE_FRY, key, logits, 0, DIMS(4), S32, &classes));
  TRY(lxla_tensor_read(dice, thrown, sizeof thrown));
  TRY(lxla_tensor_read(classes, drawn, sizeof drawn));
  for (int i = 0; i < 4; i++) CHECK(thrown[i] >= 1 && thrown[i] <= 6 && drawn[i] == 0);
  RELEASE(key, waits, extremes, errors, weights, dice, logits, classes);
}

// On a mesh of four devices, of which each has a row of x and the body sees its own.
static void collectives(void) {
  lxla_env_options options = {.struct_size = sizeof options};
  lxla_env four;
  TRY(lxla_env_options_init(&options));
  options.device_count = 4;
  TRY(lxla_env_create(&options, &four));
  TRY(lxla_env_enter(four));
  const char *name = "data";
  lxla_mesh mesh;
  lxla_device on_mesh;
  TRY(lxla_mesh_create(env, &name, (int64_t[]){4}, 1, NULL, &mesh));
  TRY(lxla_mesh_device(mesh, &on_mesh));
  float values[16];
  for (int i = 0; i < 16; i++) values[i] = (float)i;
  lxla_tensor whole = from_floats(on_mesh, DIMS(4, 4), values), x;
  TRY(lxla_tensor_shard(whole, mesh, "data,-", &x));  // a row on each device

  device = on_mesh;
  lxla_tensor row = placeholder(DIMS(1, 4)), rows, sums, columns, next, place;
  TRY(lxla_all_gather(row, "data", 0, &rows));                       // f32[4,4], all of x
  TRY(lxla_reduce_scatter(LXLA_REDUCE_SUM, row, "data", 1, &sums));  // f32[1,1], the sum of this device's column
  TRY(lxla_all_to_all(row, "data", 1, 0, &columns));                 // f32[4,1], this device's column
  const int64_t pairs[] = {0, 1, 1, 2, 2, 3, 3, 0};
  TRY(lxla_collective_permute(row, "data", pairs, 4, &next));  // the row of the device before
  TRY(lxla_axis_index(env, on_mesh, "data", &place));          // s32[], the device's place: 0 to 3
  lxla_computation body;
  TRY(lxla_computation_trace(&row, 1, (lxla_tensor[]){sums, next}, 2, &body));
  const char *in[] = {"data,-"}, *out[] = {"-,data", "data,-"};
  lxla_tensor made[2];
  TRY(lxla_shard_map(body, mesh, in, &x, 1, out, made, 2));
  CHECK(NEAR(made[0], 24, 28, 32, 36));
  CHECK(NEAR(made[1], 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  RELEASE(whole, x, row, rows, sums, columns, next, place, made[0], made[1]);
  TRY(lxla_computation_release(body));
  TRY(lxla_mesh_release(mesh));
  TRY(lxla_env_exit(four));
  TRY(lxla_env_release(four));
  device = (lxla_device){LXLA_DEVICE_XLA, 0};
}

static void exchange(void) {
  lxla_tensor x = from_floats(device, DIMS(3), (float[]){1, 2, 3}), y, named;
  void *managed;
  TRY(lxla_tensor_to_dlpack_unversioned(x, 0, &managed));                 // a DLManagedTensor
  TRY(lxla_tensor_from_dlpack_unversioned(env, device, managed, 0, &y));  // which the library owns then
  TRY(lxla_checkpoint_name(x, "hidden", &named));                         // for LXLA_CHECKPOINT_SAVE_NAMED
  CHECK(NEAR(y, 1, 2, 3) && NEAR(named, 1, 2, 3));

  const char *text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }";
  char *json;
  TRY(lxla_module_describe(text, strlen(text), &json));
  CHECK(strstr(json, "main"));
  lxla_string_free(json);

  const char *name = "x";
  lxla_save_ticket ticket;
  TRY(lxla_save_async("calls.safetensors", &name, &x, 1, &ticket));
  TRY(lxla_save_ticket_retain(ticket));  // a second reference, for another thread
  TRY(lxla_save_wait(ticket));
  for (int i = 0; i < 2; i++) TRY(lxla_save_ticket_release(ticket));
  remove("calls.safetensors");
  RELEASE(x, y, named);
}

int main(void) {
  linear_algebra();
  reductions();
  random_numbers();
  collectives();
  exchange();
  return 0;
}
