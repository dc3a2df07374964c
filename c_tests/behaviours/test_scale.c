// Long chains of operations: H2 of docs/behaviours.md.
#include "check.h"

static double resident_bytes(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld %ld", &pages, &resident) == 2);
  fclose(f);
  return (double)resident * 4096;
}

enum { MILLION = 1000000 };

TEST(h2_a_million_operations_are_recorded_stepped_and_released) {
  lxla_env env = new_env();
  float zeros[8] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, values[8];
  lxla_tensor x = from_f32(env, DIMS(8), zeros), y = from_f32(env, DIMS(8), ones);
  for (int i = 0; i < MILLION; i++) {
    lxla_tensor next = binary(ADD, x, y);
    RELEASE(x);
    x = next;
  }
  OK(lxla_mark_step(env, XLA(0), 1));
  CHECK(counter(env, "UncachedCompile") <= 3);
  EQUAL(counter(env, "ExecuteComputation"), (MILLION + 16383) / 16384);
  read_f32(x, values, 8);
  EQUAL(values[7], MILLION);
  RELEASE(x, y);
  EQUAL(counter(env, "LiveBytes"), 0);
  EQUAL(counter(env, "CreateTensor"), counter(env, "DestroyTensor"));
  OK(lxla_env_release(env));
}

TEST(h2_an_unrun_chain_is_dropped_and_its_memory_returns) {
  lxla_env env = new_env();
  double before = 0;
  for (int turn = 0; turn < 4; turn++) {
    lxla_tensor x = one(env, 0);
    for (int i = 0; i < MILLION; i++) OK(lxla_binary_scalar_inplace(ADD, x, 1));
    RELEASE(x);
    // The library drops dead operations while recording goes on, and in the step at the latest.
    OK(lxla_mark_step(env, XLA(0), 1));
    EQUAL(counter(env, "ExecuteComputation"), 0);
    if (turn == 0) before = resident_bytes();
  }
  CHECK(resident_bytes() - before < 20e6);
  OK(lxla_env_release(env));
}

TEST(h2_dead_operations_do_not_pile_up_between_steps) {
  lxla_env env = new_env();
  lxla_tensor x = one(env, 1), kept = scalar(ADD, x, 41);
  double before = 0;
  for (int i = 0; i < 4 * MILLION; i++) {
    RELEASE(scalar(MUL, kept, 2));
    if (i == MILLION) before = resident_bytes();
  }
  CHECK(resident_bytes() - before < 20e6);
  EQUAL(value(kept), 42);
  RELEASE(x, kept);
  OK(lxla_env_release(env));
}

// Records iterations of seven operations, and returns the number of compiles.
static uint64_t compiles_of_a_loop(const char *policy, int iterations) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_pending_ops", "1000"));
  OK(lxla_env_set_option(env, "pending_limit_policy", policy));
  lxla_tensor x = one(env, 0), y = one(env, 1), first = snapshot(y);
  for (int i = 0; i < iterations; i++) {
    lxla_tensor half = scalar(MUL, x, 0.5), more = scalar(ADD, half, 1);
    OK(lxla_binary_inplace(ADD, y, more));
    OK(lxla_binary_scalar_inplace(MUL, y, 0.5));
    OK(lxla_binary_scalar_inplace(ADD, x, i));
    OK(lxla_binary_scalar_inplace(SUB, x, i));
    OK(lxla_binary_inplace(LXLA_BINARY_MAXIMUM, x, more));
    RELEASE(half, more);
  }
  const uint64_t steps = counter(env, "MarkStep");
  CHECK(steps >= (uint64_t)iterations * 7 / 1000);
  // The fixed points of x = max(x, x / 2 + 1) and y = (y + x / 2 + 1) / 2.
  CHECK(fabs(value(x) - 2) < 1e-5);
  CHECK(fabs(value(y) - 2) < 1e-5);
  EQUAL(value(first), 1);
  const uint64_t compiles = counter(env, "UncachedCompile");
  RELEASE(x, y, first);
  EQUAL(counter(env, "LiveBytes"), 0);
  OK(lxla_env_release(env));
  return compiles;
}

TEST(loops_without_steps_compile_few_programs) {
  char *text = NULL;
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "pending_limit_policy", "loop"));
  OK(lxla_env_get_option(env, "pending_limit_policy", &text));
  CHECK(!strcmp(text, "loop"));
  lxla_string_free(text);
  REFUSED(lxla_env_set_option(env, "pending_limit_policy", "loops"), LXLA_INVALID_ARGUMENT, "error, step or loop");
  OK(lxla_env_release(env));
  const uint64_t few = compiles_of_a_loop("loop", 1000), more = compiles_of_a_loop("loop", 5000);
  CHECK(few <= 4);
  CHECK(more <= 4);
}

TEST(a_lower_limit_holds_from_the_next_call_on) {
  for (int policy = 0; policy < 2; policy++) {
    lxla_env env = new_env();
    OK(lxla_env_set_option(env, "pending_limit_policy", policy ? "step" : "error"));
    lxla_tensor x = one(env, 1), tensors[600];
    for (int i = 0; i < 600; i++) tensors[i] = scalar(i % 7 % 2 ? ADD : MUL, x, i);
    OK(lxla_env_set_option(env, "max_pending_ops", "610"));
    lxla_tensor more[20];
    int made = 0;
    while (made < 20 && lxla_binary_scalar(ADD, x, 1, &more[made]) == LXLA_OK) made++;
    EQUAL(made, policy ? 20 : 9);
    EQUAL(counter(env, "MarkStep"), policy);
    EQUAL(value(tensors[599]), 599 % 7 % 2 ? 600 : 599);
    OK(lxla_tensor_release_many(tensors, 600));
    OK(lxla_tensor_release_many(more, (size_t)made));
    RELEASE(x);
    OK(lxla_env_release(env));
  }
}

TEST(h2_a_million_live_tensors) {
  lxla_env env = new_env();
  lxla_tensor *list = malloc(MILLION * sizeof *list);
  CHECK(list);
  list[0] = one(env, 0);
  for (int i = 1; i < MILLION; i++) OK(lxla_binary_scalar(ADD, list[i - 1], 1, &list[i]));
  float v = 0;
  OK(lxla_env_set_option(env, "max_program_ops", "100"));
  OK(lxla_tensor_read(list[1000], &v, sizeof v));
  EQUAL(v, 1000);
  CHECK(counter(env, "UncachedCompile") <= 3);
  OK(lxla_tensor_release_many(list, MILLION));
  REFUSED(lxla_tensor_release(list[7]), LXLA_INVALID_HANDLE, "released");
  EQUAL(counter(env, "LiveBytes"), 0);
  free(list);
  OK(lxla_env_release(env));
}

TEST(forgetting_to_step_is_refused_at_the_limit) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_pending_ops", "1000"));
  lxla_tensor x = one(env, 0), out = none;
  lxla_status status = LXLA_OK;
  int recorded = 0;
  while (recorded < 2000 && (status = lxla_binary_scalar_inplace(ADD, x, 1)) == LXLA_OK) recorded++;
  EQUAL(status, LXLA_RESOURCE_EXHAUSTED);
  EQUAL(recorded, 999);  // plus the leaf: 1,000
  REFUSED(lxla_binary_scalar(ADD, x, 1, &out), LXLA_RESOURCE_EXHAUSTED, "max_pending_ops allows 1000");
  step(env);
  EQUAL(value(x), recorded);
  // Dead operations do not count towards the limit.
  for (int i = 0; i < 5000; i++) RELEASE(scalar(ADD, x, 1));
  lxla_tensor kept = scalar(ADD, x, 1);
  for (int i = 0; i < 5000; i++) RELEASE(scalar(ADD, kept, 1));
  EQUAL(value(kept), recorded + 1);
  RELEASE(x, kept);
  OK(lxla_env_release(env));
}

TEST(forgetting_to_step_steps_by_itself_if_that_is_set) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_pending_ops", "1000"));
  OK(lxla_env_set_option(env, "pending_limit_policy", "step"));
  lxla_tensor x = one(env, 0), y = one(env, 1), old = snapshot(y);
  for (int i = 0; i < 5000; i++) {
    OK(lxla_binary_scalar_inplace(ADD, x, 1));
    if (i % 10 == 0) OK(lxla_binary_inplace(ADD, y, x));
  }
  CHECK(counter(env, "MarkStep") >= 5);
  CHECK(counter(env, "DonatedBuffers") >= 5);
  EQUAL(value(x), 5000);
  EQUAL(value(y), 1 + 500 * 1 + 10.0 * 499 * 500 / 2);
  EQUAL(value(old), 1);
  // Operations that wait for a placeholder, as in a function that is traced, do not count. The limit holds again later.
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  for (int i = 0; i < 3000; i++) OK(lxla_binary_scalar_inplace(ADD, p, 1));
  lxla_tensor other = scalar(ADD, x, 1);
  RELEASE(p);
  EQUAL(value(other), 5001);
  const uint64_t steps = counter(env, "MarkStep");
  for (int i = 0; i < 3000; i++) OK(lxla_binary_scalar_inplace(ADD, other, 1));
  CHECK(counter(env, "MarkStep") >= steps + 2);
  EQUAL(value(other), 8001);
  EQUAL(value(x), 5000);
  RELEASE(other);
  RELEASE(x, y, old);
  OK(lxla_env_release(env));
}

// A value that is used far from its definition is passed on through many segments of a cut program.
TEST(cut_programs_keep_what_later_segments_need) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_program_ops", "3"));
  lxla_tensor a = one(env, 2), early = scalar(MUL, a, 5), x = scalar(ADD, early, 1), mid = none;
  for (int i = 0; i < 20; i++) {
    OK(lxla_binary_scalar_inplace(ADD, x, 1));
    if (i == 10) mid = snapshot(x);
  }
  lxla_tensor last = binary(MUL, x, early);
  RELEASE(early);
  OK(lxla_binary_inplace(ADD, a, a));
  EQUAL(step(env), 1);
  EQUAL(value(last), 31 * 10);
  EQUAL(value(mid), 22);
  EQUAL(value(x), 31);
  EQUAL(value(a), 4);
  RELEASE(a, x, mid, last);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(h2_starts_of_s32_in_an_axis_of_more_than_2_to_the_31_elements) {
  const int64_t n = ((int64_t)1 << 31) + 100;
  lxla_env env = new_env();
  uint8_t part[10], got[10];
  for (int i = 0; i < 10; i++) part[i] = (uint8_t)(i + 1);
  for (int32_t dtype = LXLA_DTYPE_S32; dtype <= LXLA_DTYPE_S64; dtype++) {
    lxla_tensor x, update, start, out, slice;
    OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_U8, &n, 1, 0, &x));
    OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_U8, DIMS(10), part, 10, &update));
    OK(lxla_tensor_full(env, XLA(0), dtype, NULL, 0, 5, &start));
    OK(lxla_dynamic_update_slice(x, update, &start, 1, &out));
    OK(lxla_dynamic_slice(out, &start, (int64_t[]){10}, 1, &slice));
    OK(lxla_sync(&out, 1));
    OK(lxla_tensor_read(slice, got, sizeof got));
    CHECK(memcmp(got, part, sizeof got) == 0);
    RELEASE(x, update, start, out, slice);
  }
  OK(lxla_env_release(env));
}
