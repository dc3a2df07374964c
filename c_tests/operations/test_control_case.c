// case: the branch of an index, with captures. On an XLA device and natively, with the same results and errors.
#include "both.h"
#include "computation.h"

static lxla_computation plus(double number, lxla_tensor captured) {
  lxla_tensor p = placeholder(env, F32, SCALAR), sum = scalar(ADD, p, number),
              result = captured.id ? binary(MUL, sum, captured) : sum;
  lxla_computation c = traced(&p, 1, &result, 1);
  RELEASE(p, sum);
  if (captured.id) RELEASE(result);
  return c;
}

static lxla_computation branches[3];
static lxla_tensor argument;

static void chosen(int32_t dtype, const void *index, size_t size, float want) {
  lxla_tensor i = array(dtype, SCALAR, index, size), out;
  OK(lxla_case(i, branches, 3, &argument, 1, &out, 1));
  HAS(out, F32, float, SCALAR, want);
  RELEASE(i);
}

#define CHOSEN(dtype, type, index, want) chosen(dtype, (type[]){index}, sizeof(type), want)

static void cases(void) {
  for (int i = 0; i < 3; i++) branches[i] = plus(10 * (i + 1), none);
  argument = ARRAY(F32, float, SCALAR, 1);
  CHOSEN(S32, int32_t, 0, 11);
  CHOSEN(S32, int32_t, 1, 21);
  CHOSEN(S32, int32_t, 2, 31);
  // An index that no branch has selects the last one, whatever the index's dtype.
  CHOSEN(S32, int32_t, 3, 31);
  CHOSEN(S32, int32_t, -1, 31);
  CHOSEN(S32, int32_t, INT32_MIN, 31);
  CHOSEN(S8, int8_t, 1, 21);
  CHOSEN(S8, int8_t, -128, 31);
  CHOSEN(U8, uint8_t, 255, 31);
  CHOSEN(U16, uint16_t, 1, 21);
  CHOSEN(U32, uint32_t, 0, 11);
  CHOSEN(U32, uint32_t, UINT32_MAX, 31);
  CHOSEN(S64, int64_t, 1, 21);
  CHOSEN(S64, int64_t, INT64_C(1) << 32, 31);
  CHOSEN(S64, int64_t, INT64_MIN, 31);
  CHOSEN(U64, uint64_t, 1, 21);
  CHOSEN(U64, uint64_t, UINT64_C(1) << 32, 31);
  CHOSEN(U64, uint64_t, UINT64_MAX, 31);

  lxla_tensor index = ARRAY(S32, int32_t, SCALAR, 7), out = none, list = ARRAY(S32, int32_t, DIMS(1), 0);
  OK(lxla_case(index, branches, 1, &argument, 1, &out, 1));  // the only branch
  HAS(out, F32, float, SCALAR, 11);
  REFUSED(lxla_case(argument, branches, 3, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "index: it is f32[]; want an integer scalar");
  REFUSED(lxla_case(list, branches, 3, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "index: it is s32[1]; want an integer scalar");
  REFUSED(lxla_case(index, NULL, 0, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "n_branches: 0 given; want at least 1");
  REFUSED(lxla_case(index, branches, 3, &index, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "args: args[0] is s32[]; branches[0]'s parameter 0 is f32[]");
  REFUSED(lxla_case(index, branches, 3, NULL, 0, &out, 1), LXLA_INVALID_ARGUMENT,
          "args: 0 given; branches[0] takes 1 parameters");
  REFUSED(lxla_case(index, branches, 3, &argument, 1, &out, 2), LXLA_INVALID_ARGUMENT, "out_results: 2 given; want 1");
  REFUSED(lxla_case(index, (lxla_computation[]){branches[0], {0}}, 2, &argument, 1, &out, 1), LXLA_INVALID_HANDLE,
          "branches");
  RELEASE(index, list, argument);
  for (int i = 0; i < 3; i++) OK(lxla_computation_release(branches[i]));
}
TEST(case_takes_the_branch_of_its_number) { on_both(cases); }

TEST(case_captures_differ_and_only_one_branch_runs) {
  env = new_env();
  device = XLA(0);
  lxla_tensor two = ARRAY(F32, float, SCALAR, 2), three = ARRAY(F32, float, SCALAR, 3), out;
  lxla_computation all[] = {plus(1, two), plus(1, none), plus(2, three), plus(1, two)};
  lxla_tensor index = ARRAY(S32, int32_t, SCALAR, 0);
  const float want[] = {10, 5, 18, 10};
  argument = ARRAY(F32, float, SCALAR, 4);
  for (int i = 0; i < 4; i++) {
    OK(lxla_case(index, all, 4, &argument, 1, &out, 1));
    char *text = text_of(out);
    EQUAL(occurrences(text, "stablehlo.case"), 1);
    EQUAL(occurrences(text, "func.func private"), 3);  // equal branches are one function
    lxla_string_free(text);
    HAS(out, F32, float, SCALAR, want[i]);
    OK(lxla_binary_scalar_inplace(ADD, index, 1));
  }
  // One program computes all of them.
  EQUAL(counter(env, "UncachedCompile") <= 3, 1);
  lxla_tensor p = placeholder(env, F32, SCALAR), q = placeholder(env, F32, DIMS(1)), twice = scalar(MUL, q, 2);
  lxla_computation other = traced(&q, 1, &twice, 1), pair = traced(&p, 1, (lxla_tensor[]){p, p}, 2);
  REFUSED(lxla_case(index, (lxla_computation[]){all[0], other}, 2, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "args[0] is f32[]; branches[1]'s parameter 0 is f32[1]");
  REFUSED(lxla_case(index, (lxla_computation[]){all[0], pair}, 2, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "branches[1]: its results are f32[], f32[]; those of branches[0] are f32[]");
  for (int i = 0; i < 4; i++) OK(lxla_computation_release(all[i]));
  OK(lxla_computation_release(other));
  OK(lxla_computation_release(pair));
  RELEASE(two, three, index, argument, p, q, twice);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
