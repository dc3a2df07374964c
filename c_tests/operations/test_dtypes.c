// Type and shape in one call, and properties of dtypes that need no tensor. dtypes_test.py compares all dtypes.
#include "both.h"

static void info(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), scalar = at(S8, 3);
  int32_t dtype = 0;
  size_t rank = 99;
  int64_t dims[64] = {7, 7, 7};
  OK(lxla_tensor_info(x, &dtype, &rank, dims, 64));
  CHECK(dtype == F32 && rank == 2 && dims[0] == 2 && dims[1] == 3 && dims[2] == 7);
  OK(lxla_tensor_info(scalar, &dtype, &rank, dims, 0));
  CHECK(dtype == S8 && rank == 0 && dims[0] == 2);
  OK(lxla_tensor_info(x, NULL, &rank, NULL, 0));
  EQUAL(rank, 2);
  dtype = 0, rank = 99;
  REFUSED(lxla_tensor_info(x, &dtype, &rank, dims, 1), BAD, "capacity: 1 given; the tensor has rank 2");
  CHECK(dtype == 0 && rank == 99);
  RELEASE(x);
  REFUSED(lxla_tensor_info(x, &dtype, &rank, dims, 64), LXLA_INVALID_HANDLE, "tensor");
  RELEASE(scalar);
}
TEST(type_and_shape_come_in_one_call) { on_both(info); }

TEST(dtypes_are_looked_up) {
  size_t size = 0;
  int32_t dtype = 0, flag = 7;
  OK(lxla_dtype_size(C128, &size));
  EQUAL(size, 16);
  REFUSED(lxla_dtype_size(99, &size), BAD, "dtype: 99 is not an LXLA_DTYPE_* constant");
  REFUSED(lxla_dtype_size(F32, NULL), LXLA_NULL_ARGUMENT, "out_size_bytes");
  OK(lxla_dtype_promote(S64, BF16, &dtype));
  EQUAL(dtype, BF16);
  REFUSED(lxla_dtype_promote(LXLA_DTYPE_F8E5M2, F32, &dtype), BAD, "f8e5m2 and f32 have no common dtype");
  REFUSED(lxla_dtype_promote(F32, 0, &dtype), BAD, "b: dtype: 0 is not");
  EQUAL(dtype, BF16);
  OK(lxla_dtype_can_cast(F64, F32, &flag));
  EQUAL(flag, 0);
  OK(lxla_dtype_can_cast(U8, S16, &flag));
  EQUAL(flag, 1);
}

TEST(limits_are_written_as_far_as_the_struct_goes) {
  lxla_dtype_limits limits;
  memset(&limits, 0x55, sizeof limits);
  limits.struct_size = sizeof limits;
  OK(lxla_dtype_info(F32, &limits));
  CHECK(limits.struct_size == sizeof limits && limits.kind == LXLA_KIND_FLOAT && limits.bits == 32 &&
        limits.digits == 6);
  CHECK(limits.eps == 0x1p-23 && limits.max == 0x1.fffffep127 && limits.smallest_subnormal == 0x1p-149);
  OK(lxla_dtype_info(S64, &limits));
  CHECK(limits.integer_min == INT64_MIN && limits.integer_max == INT64_MAX && limits.eps == 0 && limits.min == -0x1p63);
  OK(lxla_dtype_info(U64, &limits));
  CHECK(limits.integer_min == 0 && limits.integer_max == UINT64_MAX && limits.kind == LXLA_KIND_UNSIGNED);
  memset(&limits, 0x55, sizeof limits);
  limits.struct_size = offsetof(lxla_dtype_limits, bits);
  OK(lxla_dtype_info(PRED, &limits));
  CHECK(limits.kind == LXLA_KIND_PRED && limits.bits == 0x55555555);
  limits.struct_size = 4;
  REFUSED(lxla_dtype_info(PRED, &limits), BAD, "out_limits: struct_size is 4");
}

TEST(dtypes_have_names) {
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_PRED), "pred") == 0);
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_BF16), "bf16") == 0);
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_C128), "c128") == 0);
  CHECK(strcmp(lxla_dtype_name(0), "unknown") == 0);
  CHECK(strcmp(lxla_dtype_name(99), "unknown") == 0);
}

TEST(scalars_are_cast_as_numpy_casts_them) {
  lxla_scalar x = {.dtype = S64, .value.i = 300}, out;
  memset(&out, 0x55, sizeof out);
  OK(lxla_scalar_cast(&x, S8, &out));
  CHECK(out.dtype == S8 && out.reserved == 0 && out.value.i == 44 && out.value.c[1] == 0);
  x = (lxla_scalar){.dtype = F64, .value.f = 1e300};
  OK(lxla_scalar_cast(&x, F32, &out));
  CHECK(out.dtype == F32 && out.value.f == HUGE_VAL && out.value.c[1] == 0);
  OK(lxla_scalar_cast(&x, U8, &out));
  CHECK(out.dtype == U8 && out.value.u == 255);
  OK(lxla_scalar_cast(&x, C128, &x));
  CHECK(x.dtype == C128 && x.value.c[0] == 1e300 && x.value.c[1] == 0);
  x.value.c[0] = 0, x.value.c[1] = -1;
  OK(lxla_scalar_cast(&x, LXLA_DTYPE_PRED, &out));
  CHECK(out.dtype == LXLA_DTYPE_PRED && out.value.u == 1);
  // The result is taken wherever the number itself would be refused.
  lxla_scalar large = {.dtype = S64, .value.i = 300};
  env = new_env();
  device = XLA(0);
  lxla_tensor t = at(S8, 3), sum = none;
  REFUSED(lxla_binary_with_scalar(ADD, t, &large, 0, &sum), BAD, "300");
  OK(lxla_scalar_cast(&large, S8, &large));
  OK(lxla_binary_with_scalar(ADD, t, &large, 0, &sum));
  HAS(sum, S8, int8_t, SCALAR, 47);
  RELEASE(t);
  OK(lxla_env_release(env));
  out.dtype = 77;
  REFUSED(lxla_scalar_cast(&x, 99, &out), BAD, "dtype: 99 is not an LXLA_DTYPE_* constant");
  REFUSED(lxla_scalar_cast(NULL, S8, &out), LXLA_NULL_ARGUMENT, "scalar: it is NULL");
  REFUSED(lxla_scalar_cast(&x, S8, NULL), LXLA_NULL_ARGUMENT, "out_scalar");
  x.dtype = 0;
  REFUSED(lxla_scalar_cast(&x, S8, &out), BAD, "scalar: dtype: 0 is not");
  EQUAL(out.dtype, 77);
}
