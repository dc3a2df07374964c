// Cholesky factors, triangular systems, Fourier transforms and norms, on an XLA device and native.
#include "near.h"
#include "computation.h"

#define ULPS (4 / 8388608.0)
#define LENGTHS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static lxla_tensor factor(lxla_tensor a, int32_t lower) {
  lxla_tensor out;
  OK(lxla_cholesky(a, lower, &out));
  RELEASE(a);
  return out;
}

static void factors(void) {
  // The other triangle is not read.
  const int32_t dtypes[] = {F16, BF16, F32, F64};
  for (int i = 0; i < 4; i++) {
    int32_t t = dtypes[i];
    VALUES(factor(as(t, F32S(DIMS(3, 3), 4, NAN, NAN, 2, 5, NAN, 2, 3, 6)), 1), t, DIMS(3, 3), 2, 0, 0, 1, 2, 0, 1, 1,
           2);
    VALUES(factor(as(t, F32S(DIMS(3, 3), 4, 2, 2, NAN, 5, 3, NAN, NAN, 6)), 0), t, DIMS(3, 3), 2, 1, 1, 0, 2, 1, 0, 0,
           2);
  }
  // Imaginary parts of the diagonal are not read.
  for (int i = 0; i < 2; i++) {
    int32_t t = i ? C128 : C64;
    VALUES(factor(as(t, C64S(DIMS(2, 2), 4, 7, NAN, NAN, 2, 2, 6, -9)), 1), t, DIMS(2, 2), 2, 0, 0, 0, 1, 1, 2, 0);
    VALUES(factor(as(t, C64S(DIMS(2, 2), 4, 7, 2, -2, NAN, NAN, 6, -9)), 0), t, DIMS(2, 2), 2, 0, 1, -1, 0, 0, 2, 0);
  }
  VALUES(factor(array(F32, DIMS(0, 0), NULL, 0), 1), F32, DIMS(0, 0), 0);
  VALUES(factor(array(F32, DIMS(0, 2, 2), NULL, 0), 1), F32, DIMS(0, 2, 2), 0);
  VALUES(factor(array(F32, DIMS(2, 0, 0), NULL, 0), 1), F32, DIMS(2, 0, 0), 0);
  VALUES(factor(F32S(DIMS(2, 1, 1, 1), 4, 9), 0), F32, DIMS(2, 1, 1, 1), 2, 3);
}

// A batch of two matrices: one has no factor, the other one has.
static void no_factors(void) {
  const float bad[][3] = {{0, 0, 1},   {-1, 0, 1},  {1, 2, 1},        {1, 1, 1},        {1, NAN, 1},
                          {NAN, 0, 1}, {1, 0, NAN}, {INFINITY, 0, 1}, {1, INFINITY, 1}, {1, 0, INFINITY}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const float *m = bad[i];
    VALUES(factor(F32S(DIMS(2, 2, 2), m[0], 0, m[1], m[2], 4, 0, 2, 5), 1), F32, DIMS(2, 2, 2), NAN, 0, NAN, NAN, 2, 0,
           1, 2);
    VALUES(factor(F32S(DIMS(2, 2), m[0], m[1], 0, m[2]), 0), F32, DIMS(2, 2), NAN, NAN, 0, NAN);
    VALUES(factor(C64S(DIMS(2, 2), m[0], 0, 0, 0, m[1], 0, m[2], 0), 1), C64, DIMS(2, 2), NAN, NAN, 0, 0, NAN, NAN, NAN,
           NAN);
  }
  VALUES(factor(F32S(DIMS(1, 1), 0), 1), F32, DIMS(1, 1), NAN);
  VALUES(factor(F32S(DIMS(1, 1), INFINITY), 1), F32, DIMS(1, 1), NAN);
}

static lxla_tensor solved(lxla_tensor a, lxla_tensor b, int32_t left, int32_t lower, int32_t unit, int32_t transpose) {
  lxla_tensor out;
  OK(lxla_triangular_solve(a, b, left, lower, unit, transpose, &out));
  RELEASE(a, b);
  return out;
}

static void systems(void) {
  enum { NO = LXLA_TRANSPOSE_NO_TRANSPOSE, TURNED = LXLA_TRANSPOSE_TRANSPOSE, ADJOINT = LXLA_TRANSPOSE_ADJOINT };
  const int32_t dtypes[] = {F16, BF16, F32, F64};
  for (int i = 0; i < 4; i++) {
    int32_t t = dtypes[i];
#define LOWER as(t, F32S(DIMS(2, 2), 2, NAN, 1, 4))
#define UPPER as(t, F32S(DIMS(2, 2), 2, 1, NAN, 4))
    VALUES(solved(LOWER, as(t, F32S(DIMS(2, 1), 2, 9)), 1, 1, 0, NO), t, DIMS(2, 1), 1, 2);
    VALUES(solved(LOWER, as(t, F32S(DIMS(2, 1), 4, 8)), 1, 1, 0, TURNED), t, DIMS(2, 1), 1, 2);
    VALUES(solved(UPPER, as(t, F32S(DIMS(2, 2), 4, 5, 8, 4)), 1, 0, 0, NO), t, DIMS(2, 2), 1, 2, 2, 1);
    VALUES(solved(UPPER, as(t, F32S(DIMS(1, 2), 2, 9)), 0, 0, 0, NO), t, DIMS(1, 2), 1, 2);
    VALUES(solved(LOWER, as(t, F32S(DIMS(1, 2), 4, 8)), 0, 1, 0, ADJOINT), t, DIMS(1, 2), 0.75 + 1.25, 1.5);
    VALUES(solved(as(t, F32S(DIMS(2, 2), NAN, NAN, 1, 0)), as(t, F32S(DIMS(2, 1), 2, 9)), 1, 1, 1, NO), t, DIMS(2, 1),
           2, 7);
  }
  // [[1+i, 0], [i, 2]]: as given, transposed, and conjugate transposed.
  for (int i = 0; i < 2; i++) {
    int32_t t = i ? C128 : C64;
#define COMPLEX as(t, C64S(DIMS(2, 2), 1, 1, NAN, NAN, 0, 1, 2, 0))
    VALUES(solved(COMPLEX, as(t, C64S(DIMS(2, 1), 2, 0, 3, 1)), 1, 1, 0, NO), t, DIMS(2, 1), 1, -1, 1, 0);
    VALUES(solved(COMPLEX, as(t, C64S(DIMS(2, 1), 2, 1, 2, 0)), 1, 1, 0, TURNED), t, DIMS(2, 1), 1, -1, 1, 0);
    VALUES(solved(COMPLEX, as(t, C64S(DIMS(2, 1), 2, -1, 2, 0)), 1, 1, 0, ADJOINT), t, DIMS(2, 1), 1, 1, 1, 0);
    VALUES(solved(COMPLEX, as(t, C64S(DIMS(1, 2), 2, 1, 2, 0)), 0, 1, 0, NO), t, DIMS(1, 2), 1, -1, 1, 0);
  }
  VALUES(solved(F32S(DIMS(1, 1), 2), as(F64, F32S(DIMS(1, 1), 3)), 1, 1, 0, NO), F64, DIMS(1, 1), 1.5);
  VALUES(solved(array(F32, DIMS(0, 0), NULL, 0), array(F32, DIMS(0, 3), NULL, 0), 1, 1, 0, NO), F32, DIMS(0, 3), 0);
  VALUES(solved(F32S(DIMS(1, 1), 2), array(F32, DIMS(1, 0), NULL, 0), 1, 1, 0, NO), F32, DIMS(1, 0), 0);
  // A 0 (here -0) on the diagonal: no solution for the first of two systems, one for the second.
  VALUES(solved(F32S(DIMS(2, 2, 2), 1, 0, 5, -0.0f, 2, 0, 0, 1), F32S(DIMS(2, 2, 1), 1, 2, 6, 3), 1, 1, 0, NO), F32,
         DIMS(2, 2, 1), NAN, NAN, 3, 3);
  VALUES(solved(C64S(DIMS(1, 1), 0, 0), C64S(DIMS(1, 1), 0, 0), 1, 1, 0, NO), C64, DIMS(1, 1), NAN, NAN);
  VALUES(solved(F32S(DIMS(1, 1), 0), F32S(DIMS(1, 1), 3), 1, 1, 1, NO), F32, DIMS(1, 1), 3);
}

static void algebra_refusals(void) {
  lxla_tensor a = F32S(DIMS(2, 2), 1, 0, 0, 1), wide = F32S(DIMS(1, 2), 1, 2), v = F32S(DIMS(2), 1, 2), out = none;
  lxla_tensor whole, batch = F32S(DIMS(1, 2, 2), 1, 0, 0, 1);
  OK(lxla_convert(a, LXLA_DTYPE_S32, &whole));
  REFUSED(lxla_cholesky(wide, 1, &out), BAD, "a: it is f32[1,2]; cholesky takes square matrices in the last two axes");
  REFUSED(lxla_cholesky(v, 1, &out), BAD, "a: it is f32[2]; cholesky takes square matrices");
  REFUSED(lxla_cholesky(whole, 1, &out), BAD, "a: cholesky takes floats and complex numbers, not s32[2,2]");
  REFUSED(lxla_cholesky(a, 2, &out), BAD, "lower: 2 given; want 0 or 1");
  REFUSED(lxla_triangular_solve(a, wide, 1, 1, 0, 1, &out), BAD,
          "b: it is f32[1,2]; a is f32[2,2], and wants its batch axes and 2 rows");
  REFUSED(lxla_triangular_solve(batch, a, 0, 1, 0, 1, &out), BAD,
          "b: it is f32[2,2]; a is f32[1,2,2], and wants its batch axes and 2 columns");
  REFUSED(lxla_triangular_solve(wide, a, 1, 1, 0, 1, &out), BAD, "triangular_solve takes square matrices");
  REFUSED(lxla_triangular_solve(a, whole, 1, 1, 0, 1, &out), BAD, "do not promote");
  REFUSED(lxla_triangular_solve(a, a, 1, 1, 0, 0, &out), BAD,
          "transpose_a: 0 is not an LXLA_TRANSPOSE_* constant (valid: 1 to 3)");
  REFUSED(lxla_triangular_solve(a, a, 1, 1, -1, 1, &out), BAD, "unit_diagonal: -1 given; want 0 or 1");
  REFUSED(lxla_triangular_solve(a, none, 1, 1, 0, 1, &out), LXLA_INVALID_HANDLE, "b");
  RELEASE(a, wide, v, whole, batch);
}

static lxla_tensor least(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_lstsq(a, b, -1, &out));
  RELEASE(a, b);
  return out;
}

static int32_t rank_of(lxla_tensor a, double rtol) {
  lxla_tensor out;
  int32_t rank = -1;
  OK(lxla_matrix_rank(a, rtol, &out));
  OK(lxla_tensor_read(out, &rank, sizeof rank));
  RELEASE(out);
  return rank;
}

// The default tolerance of two singular values is 2 epsilon of the promoted dtype.
static void tolerances(void) {
#define NARROW F32S(DIMS(2, 2), 1, 0, 0, 0x1p-30f)
  VALUES(least(NARROW, F32S(DIMS(2), 1, 1)), F32, DIMS(2), 1, 0);
  VALUES(least(NARROW, as(F64, F32S(DIMS(2), 1, 1))), F64, DIMS(2), 1, 0x1p30);
  VALUES(least(as(F64, NARROW), F32S(DIMS(2), 1, 1)), F64, DIMS(2), 1, 0x1p30);
  VALUES(least(as(BF16, F32S(DIMS(2, 2), 1, 0, 0, 0x1p-10f)), F32S(DIMS(2), 1, 1)), F32, DIMS(2), 1, 1024);
  // A tolerance of 1 and more leaves nothing, also one that f32 does not have.
  lxla_tensor a = F32S(DIMS(2, 2), 1, 0, 0, 3), out = none;
  CHECK(rank_of(a, 0.25) == 2 && rank_of(a, 0.5) == 1);
  const double large[] = {1, 2, 1e300, INFINITY};
  for (int i = 0; i < 4; i++) {
    CHECK(rank_of(a, large[i]) == 0);
    OK(lxla_pinv(a, large[i], &out));
    VALUES(out, F32, DIMS(2, 2), 0, 0, 0, 0);
  }
  CHECK(rank_of(a, 1e-300) == 2);
  REFUSED(lxla_matrix_rank(a, NAN, &out), BAD, "rtol: it is NaN; want a number, negative for the default");
  lxla_tensor whole;
  OK(lxla_convert(a, LXLA_DTYPE_S32, &whole));
  REFUSED(lxla_solve(a, whole, &out), BAD, "a is f32[2,2] and b is s32[2,2]");
  REFUSED(lxla_lstsq(whole, a, -1, &out), BAD, "a: lstsq takes floats and complex numbers, not s32[2,2]");
  REFUSED(lxla_lstsq(a, whole, -1, &out), BAD, "a is f32[2,2] and b is s32[2,2]");
  REFUSED(lxla_triangular_solve(a, whole, 1, 1, 0, 1, &out), BAD, "a is f32[2,2] and b is s32[2,2]");
  RELEASE(a, whole);
}

// Systems of more unknowns than are found one by one, of every form, for which natively integers are exact.
static void large_systems(void) {
  enum { N = 70 };
  static float a[N * N], b[N * 3], want[N * 3];
  for (int32_t op = 1; op <= 3; op++) {
    for (int form = 0; form < 8; form++) {
      int32_t left = form & 1, lower = form >> 1 & 1, unit = form >> 2;
      for (int i = 0; i < N * N; i++) a[i] = i % N == i / N ? (unit ? 9 : 1) : (i % 37 == 0) - (i % 53 == 0);
      for (int i = 0; i < N * 3; i++) want[i] = (float)(i * 3 % 5 - 2);
      // want has N rows of 3 or, from the right, 3 rows of N.
      for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) {
          double sum = 0;
          for (int j = 0; j < N; j++) {
            // The element of op(a) that multiplies unknown j in equation i.
            int turned = (op != LXLA_TRANSPOSE_NO_TRANSPOSE) == left;
            int row = turned ? j : i, column = turned ? i : j;
            double x = row == column ? 1 : (row > column) == lower ? a[row * N + column] : 0;
            sum += x * want[left ? j * 3 + k : k * N + j];
          }
          b[left ? i * 3 + k : k * N + i] = (float)sum;
        }
      }
      int64_t dims[] = {left ? N : 3, left ? 3 : N};
      lxla_tensor made =
          solved(array(F32, DIMS(N, N), a, sizeof a), array(F32, dims, 2, b, sizeof b), left, lower, unit, op);
      float got[N * 3];
      OK(lxla_tensor_read(made, got, sizeof got));
      for (int i = 0; i < N * 3; i++) CHECK(fabsf(got[i] - want[i]) <= (is_native() ? 0 : 1e-4f));
      RELEASE(made);
    }
  }
}

static lxla_tensor transformed(int32_t op, lxla_tensor x, const int64_t *lengths, size_t n) {
  lxla_tensor out;
  OK(lxla_fft(op, x, lengths, n, &out));
  RELEASE(x);
  return out;
}

static void transforms(void) {
  enum { FFT = LXLA_FFT_FFT, IFFT = LXLA_FFT_IFFT, RFFT = LXLA_FFT_RFFT, IRFFT = LXLA_FFT_IRFFT };
  const double sine = 0.8660254037844386;
  for (int i = 0; i < 2; i++) {
    int32_t t = i ? C128 : C64, real = i ? F64 : F32;
    double ulps = i ? 1e-15 : ULPS;
    NEAR(transformed(FFT, as(t, F32S(DIMS(4), 1, 2, 3, 4)), LENGTHS(4)), t, DIMS(4), ulps, 10, 0, -2, 2, -2, 0, -2, -2);
    NEAR(transformed(IFFT, as(t, C64S(DIMS(4), 10, 0, -2, 2, -2, 0, -2, -2)), LENGTHS(4)), t, DIMS(4), ulps, 1, 0, 2, 0,
         3, 0, 4, 0);
    NEAR(transformed(RFFT, as(real, F32S(DIMS(3), 1, 2, 3)), LENGTHS(3)), t, DIMS(2), ulps, 6, 0, -1.5, sine);
    NEAR(transformed(RFFT, as(real, F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6)), NULL, 1), t, DIMS(2, 2), ulps, 6, 0, -1.5,
         sine, 15, 0, -1.5, sine);
    NEAR(transformed(RFFT, as(real, F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6)), NULL, 2), t, DIMS(2, 2), ulps, 21, 0, -3,
         2 * sine, -9, 0, 0, 0);
    NEAR(transformed(FFT, as(t, F32S(DIMS(1, 2, 2), 1, 2, 3, 4)), LENGTHS(1, 2, 2)), t, DIMS(1, 2, 2), ulps, 10, 0, -2,
         0, -4, 0, 0, 0);
    NEAR(transformed(IRFFT, as(t, C64S(DIMS(2, 2), 21, 0, -3, (float)(2 * sine), -9, 0, 0, 0)), LENGTHS(2, 3)), real,
         DIMS(2, 3), ULPS, 1, 2, 3, 4, 5, 6);
    // The same half spectrum serves an even and an odd length; imaginary parts that a real signal cannot have are
    // ignored.
    NEAR(transformed(IRFFT, as(t, C64S(DIMS(3), 1, 5, 2, 1, 3, 7)), NULL, 1), real, DIMS(4), ulps, 2, -1, 0, 0);
    NEAR(transformed(IRFFT, as(t, C64S(DIMS(3), 5, 9, 0, 0, 0, 0)), LENGTHS(5)), real, DIMS(5), ulps, 1, 1, 1, 1, 1);
    VALUES(transformed(FFT, as(t, C64S(DIMS(1), 3, 4)), LENGTHS(1)), t, DIMS(1), 3, 4);
    VALUES(transformed(RFFT, as(real, F32S(DIMS(1), 3)), LENGTHS(1)), t, DIMS(1), 3, 0);
    VALUES(transformed(IRFFT, as(t, C64S(DIMS(1), 3, 4)), LENGTHS(1)), real, DIMS(1), 3);
    VALUES(transformed(FFT, array(t, DIMS(0, 4), NULL, 0), LENGTHS(4)), t, DIMS(0, 4), 0);
    VALUES(transformed(RFFT, array(real, DIMS(2, 0), NULL, 0), LENGTHS(0)), t, DIMS(2, 0), 0);
    VALUES(transformed(IRFFT, array(t, DIMS(0), NULL, 0), NULL, 1), real, DIMS(0), 0);
  }
  // A prime length: an impulse and its transform.
  float x[2 * 101] = {0};
  double want[2 * 101];
  for (int k = 0; k < 101; k++) {
    want[2 * k] = cos(2 * 3.14159265358979323846 * k / 101);
    want[2 * k + 1] = -sin(2 * 3.14159265358979323846 * k / 101);
  }
  x[2] = 1;
  has_near(__FILE__, __LINE__, transformed(FFT, array(C64, DIMS(101), x, sizeof x), LENGTHS(101)), C64, DIMS(101), want,
           ULPS);
}

static void transform_refusals(void) {
  lxla_tensor x = F32S(DIMS(2, 4), 1, 2, 3, 4, 5, 6, 7, 8), z = C64S(DIMS(3), 1, 2, 3, 4, 5, 6), out = none, half,
              scalar = F32S(SCALAR, 1);
  OK(lxla_convert(x, F16, &half));
  REFUSED(lxla_fft(1, x, LENGTHS(4), &out), BAD, "x: FFT takes complex numbers, not f32[2,4]");
  REFUSED(lxla_fft(3, z, LENGTHS(3), &out), BAD, "x: RFFT takes f32 and f64, not c64[3]");
  REFUSED(lxla_fft(3, half, LENGTHS(4), &out), BAD, "x: RFFT takes f32 and f64, not f16[2,4]");
  REFUSED(lxla_fft(3, x, LENGTHS(2), &out), BAD,
          "lengths: lengths[0] is 2; x is f32[2,4], want as many elements on axis 1");
  REFUSED(lxla_fft(4, z, LENGTHS(6), &out), BAD,
          "lengths: lengths[0] is 6; x is c64[3], want half of it, and 1, elements on axis 0");
  REFUSED(lxla_fft(3, x, LENGTHS(2, 4, 1), &out), BAD, "n_lengths: 3 given; x is f32[2,4], want 1 to 2");
  REFUSED(lxla_fft(3, x, NULL, 0, &out), BAD, "n_lengths: 0 given");
  REFUSED(lxla_fft(3, scalar, NULL, 1, &out), BAD, "n_lengths: 1 given; x is f32[]");
  REFUSED(lxla_fft(5, z, LENGTHS(3), &out), BAD, "op: 5 is not an LXLA_FFT_* constant (valid: 1 to 4)");
  RELEASE(x, z, half, scalar);
}

static lxla_tensor length_of(lxla_tensor x, double order, int64_t axis, int32_t keep_dims) {
  lxla_tensor out;
  OK(lxla_norm(x, order, &axis, 1, keep_dims, &out));
  return out;
}

static void norms(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 3, 0, -4, 1, -2, -2), z = C64S(DIMS(2), 3, 4, 0, -12), out = none;
  VALUES(length_of(x, 2, 1, 0), F32, DIMS(2), 5, 3);
  VALUES(length_of(x, 2, -1, 1), F32, DIMS(2, 1), 5, 3);
  VALUES(length_of(x, 1, 0, 0), F32, DIMS(3), 4, 2, 6);
  VALUES(length_of(x, 0, 1, 0), F32, DIMS(2), 2, 3);
  VALUES(length_of(x, INFINITY, 1, 0), F32, DIMS(2), 4, 2);
  VALUES(length_of(x, -INFINITY, 1, 0), F32, DIMS(2), 0, 1);
  NEAR(length_of(x, 3, 1, 0), F32, DIMS(2), ULPS, cbrt(91), cbrt(17));
  NEAR(length_of(x, -1, 1, 0), F32, DIMS(2), ULPS, 0, 0.5);
  VALUES(length_of(z, 2, 0, 0), F32, SCALAR, 13);
  VALUES(length_of(z, 1, 0, 0), F32, SCALAR, 17);
  OK(lxla_norm(x, 1, NULL, 0, 0, &out));
  VALUES(out, F32, SCALAR, 12);
  OK(lxla_norm(x, INFINITY, NULL, 0, 1, &out));
  VALUES(out, F32, DIMS(1, 1), 4);
  OK(lxla_norm(x, 2, (int64_t[]){0, 1}, 2, 0, &out));
  NEAR(out, F32, SCALAR, ULPS, sqrt(34));
  // 300 squared is infinite in f16.
  lxla_tensor half = as(F16, F32S(DIMS(2), 300, 400)), empty = array(F32, DIMS(0), NULL, 0),
              odd = F32S(DIMS(2), NAN, -INFINITY);
  VALUES(length_of(half, 2, 0, 0), F16, SCALAR, 500);
  VALUES(length_of(empty, 2, 0, 0), F32, SCALAR, 0);
  VALUES(length_of(empty, INFINITY, 0, 0), F32, SCALAR, 0);
  VALUES(length_of(empty, -INFINITY, 0, 0), F32, SCALAR, INFINITY);
  VALUES(length_of(empty, -1, 0, 0), F32, SCALAR, INFINITY);
  VALUES(length_of(odd, 2, 0, 0), F32, SCALAR, NAN);
  VALUES(length_of(odd, INFINITY, 0, 0), F32, SCALAR, NAN);
  VALUES(length_of(odd, -INFINITY, 0, 0), F32, SCALAR, NAN);
  VALUES(length_of(odd, 0, 0, 0), F32, SCALAR, 2);
  lxla_tensor whole;
  OK(lxla_convert(x, LXLA_DTYPE_S32, &whole));
  REFUSED(lxla_norm(whole, 2, NULL, 0, 0, &out), BAD, "x: norm takes floats and complex numbers, not s32[2,3]");
  REFUSED(lxla_norm(x, NAN, NULL, 0, 0, &out), BAD, "ord: it is NaN");
  REFUSED(lxla_norm(x, 2, (int64_t[]){2}, 1, 0, &out), BAD, "axes: axis 2 is out of range");
  REFUSED(lxla_norm(x, 2, (int64_t[]){1, -1}, 2, 0, &out), BAD, "axes: axis -1 is given twice");
  REFUSED(lxla_norm(x, 2, NULL, 0, 3, &out), BAD, "keep_dims: 3 given");
  RELEASE(x, z, half, empty, odd, whole);
}

// A block of two rows, as LAPACK has it; the upper triangle is not read. Complex matrices are symmetric, or Hermitian,
// of which the diagonal is real.
static void symmetric_factors(void) {
  lxla_tensor out[2], x;
  lxla_tensor a = F32S(DIMS(2, 2), 0, NAN, 2, 0), b = F32S(DIMS(2), 2, 6);
  OK(lxla_ldl(a, 0, &out[0], &out[1]));
  OK(lxla_ldl_solve(out[0], out[1], b, 0, &x));
  VALUES(x, F32, DIMS(2), 3, 1);
  VALUES(out[0], F32, DIMS(2, 2), 0, 0, 2, 0);
  VALUES(out[1], S32, DIMS(2), -2, -2);
  // [[4, .], [2i, 3]]: 3 - (2i)^2 / 4 is 4, and 3 - |2i|^2 / 4 is 2.
  lxla_tensor c = C64S(DIMS(2, 2), 4, 0, NAN, NAN, 0, 2, 3, 0), one = F32S(DIMS(2, 1), 4, 0);
  for (int32_t hermitian = 0; hermitian < 2; hermitian++) {
    OK(lxla_ldl(c, hermitian, &out[0], &out[1]));
    OK(lxla_ldl_solve(out[0], out[1], one, hermitian, &x));
    if (hermitian) {
      VALUES(x, C64, DIMS(2, 1), 1.5, 0, 0, -1);
    } else {
      VALUES(x, C64, DIMS(2, 1), 0.75, 0, 0, -0.5);
    }
    VALUES(out[0], C64, DIMS(2, 2), 4, 0, 0, 0, 0, 0.5, hermitian ? 2 : 4, 0);
    VALUES(out[1], S32, DIMS(2), 1, 2);
  }
  lxla_tensor wide = F32S(DIMS(1, 2), 1, 2), flat = F32S(DIMS(2), 1, 2);
  REFUSED(lxla_ldl(wide, 0, &out[0], &out[1]), BAD, "a: it is f32[1,2]; ldl takes square matrices");
  REFUSED(lxla_ldl(a, 2, &out[0], &out[1]), BAD, "hermitian: 2 given");
  REFUSED(lxla_ldl_solve(a, flat, b, 0, &x), BAD, "pivots: it is f32[2]; factors is f32[2,2], and wants s32[2]");
  RELEASE(a, b, c, one, wide, flat);
}

// The first system exchanges rows at each step, the second one is singular.
static void tridiagonal_systems(void) {
  lxla_tensor lower = F32S(DIMS(2, 3), NAN, 4, 8, 7, 1, 1), diagonal = F32S(DIMS(2, 3), 1, 1, 1, 0, 1, 1),
              upper = F32S(DIMS(2, 3), 1, 2, NAN, 0, 1, 5),
              b = F32S(DIMS(2, 3, 2), 3, 0, 12, 0, 19, 0, 1, 1, 1, 1, 1, 1), x;
  OK(lxla_tridiagonal_solve(lower, diagonal, upper, b, &x));
  // 1 1 0; 4 1 2; 0 8 1 times (1, 2, 3).
  VALUES(x, F32, DIMS(2, 3, 2), 1, 0, 2, 0, 3, 0, NAN, NAN, NAN, NAN, NAN, NAN);
  RELEASE(lower, diagonal, upper, b);
  // Unknowns on which the equations do not depend; one equation.
  const double nine = 9, four = 4, sides[2] = {8, 2};
  lower = array(F64, DIMS(1), &nine, 8), diagonal = array(F64, DIMS(1), &four, 8),
  upper = array(F64, DIMS(1), &nine, 8);
  b = array(F64, DIMS(1, 2), sides, 16);
  OK(lxla_tridiagonal_solve(lower, diagonal, upper, b, &x));
  VALUES(x, F64, DIMS(1, 2), 2, 0.5);
  RELEASE(lower, diagonal, upper, b);
}

static void tridiagonal_refusals(void) {
  lxla_tensor two = F32S(DIMS(2), 1, 1), three = F32S(DIMS(3), 1, 1, 1),
              whole = array(S32, DIMS(2), (int32_t[]){1, 1}, 8), b = F32S(DIMS(2, 1), 1, 1), scalar = F32S(SCALAR, 1),
              x;
  REFUSED(lxla_tridiagonal_solve(three, two, two, b, &x), BAD,
          "lower: it is f32[3]; diagonal is f32[2], want the same shape");
  REFUSED(lxla_tridiagonal_solve(two, two, three, b, &x), BAD, "upper: it is f32[3]");
  REFUSED(lxla_tridiagonal_solve(two, two, two, two, &x), BAD,
          "b: it is f32[2]; diagonal is f32[2], want its axes and");
  REFUSED(lxla_tridiagonal_solve(whole, two, two, b, &x), BAD, "lower: it is s32[2]; want floats or complex numbers");
  REFUSED(lxla_tridiagonal_solve(scalar, scalar, scalar, two, &x), BAD,
          "diagonal: it is f32[]; want at least one axis");
  RELEASE(two, three, whole, b, scalar);
}

// A matrix with complex eigenvalues, a triangle, and NaN.
static void schur_forms(void) {
  lxla_tensor a = F32S(DIMS(3, 2, 2), 1, -2, 2, 1, 1, 5, 0, 2, NAN, 1, 1, 1), t, z, again;
  OK(lxla_schur(a, 0, &t, &z));
  OK(lxla_matmul(z, t, &again));
  VALUES(t, F32, DIMS(3, 2, 2), 1, -2, 2, 1, 1, 5, 0, 2, NAN, NAN, NAN, NAN);
  VALUES(again, F32, DIMS(3, 2, 2), 1, -2, 2, 1, 1, 5, 0, 2, NAN, NAN, NAN, NAN);
  RELEASE(z);
  // The eigenvalues 1 + 2i and 1 - 2i, in some order.
  lxla_tensor first, values, sizes, one = F32S(DIMS(2, 2), 1, -2, 2, 1);
  OK(lxla_schur(one, 1, &t, &z));
  OK(lxla_slice(t, (int64_t[]){0, 0}, (int64_t[]){1, 1}, NULL, 2, &values));
  OK(lxla_imag(values, &first));
  OK(lxla_unary(LXLA_UNARY_ABS, first, &sizes));
  NEAR(sizes, F32, DIMS(1, 1), 1e-6, 2);
  OK(lxla_real(values, &sizes));
  NEAR(sizes, F32, DIMS(1, 1), 1e-6, 1);
  REFUSED(lxla_schur(one, 2, &t, &again), BAD, "complex_form: 2 given; want 0 or 1");
  RELEASE(a, t, z, first, values, one);
}

static void schur_refusals(void) {
  lxla_tensor whole = array(S32, DIMS(1, 1), (int32_t[]){1}, 4), flat = F32S(DIMS(2), 1, 1), t, z;
  lxla_tensor wide = F32S(DIMS(1, 2), 1, 1);
  REFUSED(lxla_schur(whole, 0, &t, &z), BAD, "a: schur takes floats and complex numbers, not s32[1,1]");
  REFUSED(lxla_schur(flat, 0, &t, &z), BAD, "a: it is f32[2]; schur takes matrices in the last two axes");
  REFUSED(lxla_schur(wide, 1, &t, &z), BAD, "a: it is f32[1,2]; schur takes square matrices in the last two axes");
  RELEASE(whole, flat, wide);
}

// Runs all operations in one function of a program, called twice.
TEST(algebra_in_a_computation) {
  env = new_env();
  device = XLA(0);
  lxla_tensor a = placeholder(env, F32, DIMS(2, 2)), l, x, z, length;
  OK(lxla_cholesky(a, 1, &l));
  OK(lxla_triangular_solve(l, a, 1, 1, 0, LXLA_TRANSPOSE_NO_TRANSPOSE, &x));
  OK(lxla_fft(LXLA_FFT_RFFT, x, NULL, 2, &z));
  OK(lxla_norm(z, INFINITY, NULL, 0, 0, &length));
  lxla_computation c = traced(TENSORS(a), TENSORS(length));
  RELEASE(a, l, x, z, length);
  lxla_tensor first = F32S(DIMS(2, 2), 4, 2, 2, 10), second = F32S(DIMS(2, 2), 1, 0, 0, 1);
  // x is l transposed; checks the sum of its elements.
  VALUES(called(c, TENSORS(first)), F32, SCALAR, 6);
  VALUES(called(c, TENSORS(second)), F32, SCALAR, 2);
  RELEASE(first, second);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

// No time is spent on the columns or rows of a matrix without elements.
static void empty_matrices_with_long_axes(void) {
  const int64_t n = (int64_t)1 << 40;
  lxla_tensor wide = array(F32, DIMS(0, n), NULL, 0), high = array(F64, DIMS(n, 0), NULL, 0), out[3];
  OK(lxla_lu(wide, &out[0], &out[1], &out[2]));
  VALUES(out[0], F32, DIMS(0, n), 0);
  VALUES(out[1], S32, DIMS(0), 0);
  VALUES(out[2], S32, DIMS(0), 0);
  OK(lxla_qr(wide, 1, &out[0], &out[1]));
  VALUES(out[0], F32, DIMS(0, 0), 0);
  VALUES(out[1], F32, DIMS(0, n), 0);
  OK(lxla_svd(high, 0, &out[0], &out[1], &out[2]));
  VALUES(out[0], F64, DIMS(n, 0), 0);
  VALUES(out[1], F64, DIMS(0), 0);
  VALUES(out[2], F64, DIMS(0, 0), 0);
  OK(lxla_pinv(high, -1, &out[0]));
  VALUES(out[0], F64, DIMS(0, n), 0);
  RELEASE(wide, high);
}

TEST(cholesky_reads_one_triangle) { on_both(factors); }
TEST(cholesky_of_what_is_not_positive_definite) { on_both(no_factors); }
TEST(triangular_systems_of_all_forms) { on_both(systems); }
TEST(triangular_systems_of_many_unknowns) { on_both(large_systems); }
TEST(ldl_factors_are_lapacks) { on_both(symmetric_factors); }
TEST(schur_forms_have_the_eigenvalues) { on_both(schur_forms); }
TEST(schur_forms_refuse_what_does_not_fit) { on_both(schur_refusals); }
TEST(tridiagonal_systems_exchange_rows) { on_both(tridiagonal_systems); }
TEST(tridiagonal_systems_refuse_what_does_not_fit) { on_both(tridiagonal_refusals); }
TEST(tolerances_are_those_of_the_promoted_dtype) { on_both(tolerances); }
TEST(algebra_refuses_what_does_not_fit) { on_both(algebra_refusals); }
TEST(fourier_transforms_and_their_inverses) { on_both(transforms); }
TEST(fourier_transforms_refuse_what_does_not_fit) { on_both(transform_refusals); }
TEST(norms_of_vectors) { on_both(norms); }
TEST(factors_of_empty_matrices_with_long_axes) { on_both(empty_matrices_with_long_axes); }
