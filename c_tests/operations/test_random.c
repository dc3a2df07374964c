// Random bits and numbers made of them: equal on an XLA device and natively, and equal to JAX's.
#include "both.h"

#include <unistd.h>

#define THREE_FRY LXLA_RNG_THREE_FRY
#define PHILOX LXLA_RNG_PHILOX

static lxla_tensor key_of(uint32_t high, uint32_t low) { return ARRAY(U32, uint32_t, DIMS(2), high, low); }

// --- Generators with a state ---

static lxla_tensor generated(int32_t algorithm, lxla_tensor state, int32_t dtype, const int64_t *dims, size_t rank,
                             lxla_tensor *next) {
  lxla_tensor bits;
  OK(lxla_rng_bit_generator(algorithm, state, dtype, dims, rank, next, &bits));
  return bits;
}

static void generators(void) {
  // The counter wraps around at its end.
  lxla_tensor state = ARRAY(U64, uint64_t, DIMS(2), 7, UINT64_MAX), next = none, out = none;
  out = generated(THREE_FRY, state, U32, DIMS(2, 3), &next);
  HAS(out, U32, uint32_t, DIMS(2, 3), 3493762567, 3901892970, 2964889903, 1599218323, 3158004665, 1334547408);
  HAS(next, U64, uint64_t, DIMS(2), 7, 2);
  out = generated(THREE_FRY, state, S64, DIMS(3), &next);
  HAS(out, S64, uint64_t, DIMS(3), 6868590399942727175u, 13563526760692328810u, 5731837475286458671u);
  HAS(next, U64, uint64_t, DIMS(2), 7, 2);
  out = generated(THREE_FRY, state, U8, DIMS(3, 3), &next);
  HAS(out, U8, uint8_t, DIMS(3, 3), 7, 106, 47, 147, 185, 208, 177, 180, 108);
  HAS(next, U64, uint64_t, DIMS(2), 7, 5);
  out = generated(THREE_FRY, state, F32, NULL, 0, &next);
  HAS(out, F32, uint32_t, SCALAR, 3493762567);
  HAS(next, U64, uint64_t, DIMS(2), 7, 0);
  out = generated(PHILOX, state, U32, DIMS(2, 3), &next);
  HAS(out, U32, uint32_t, DIMS(2, 3), 3825527345, 2929620239, 4033760259, 866587273, 2720144846, 492154188);
  HAS(next, U64, uint64_t, DIMS(2), 7, 1);
  out = generated(PHILOX, state, U64, DIMS(1), &next);
  HAS(out, U64, uint64_t, DIMS(1), 12582623120030231089u);
  HAS(next, U64, uint64_t, DIMS(2), 7, 0);
  lxla_tensor wide = ARRAY(U64, uint64_t, DIMS(3), 1, UINT64_MAX, 3);
  out = generated(PHILOX, wide, S32, DIMS(2, 3), &next);
  HAS(out, S32, uint32_t, DIMS(2, 3), 3023135040, 2618764561, 763147620, 1543521082, 3140572256, 1890473413);
  HAS(next, U64, uint64_t, DIMS(3), 1, 1, 4);
  out = generated(PHILOX, wide, U64, DIMS(3), &next);
  HAS(out, U64, uint64_t, DIMS(3), 11247508148441932096u, 6629372568639681892u, 8119521485933073504u);
  HAS(next, U64, uint64_t, DIMS(3), 1, 1, 4);
  out = generated(PHILOX, wide, U16, DIMS(3), &next);
  HAS(out, U16, uint16_t, DIMS(3), (uint16_t)3023135040, (uint16_t)2618764561, (uint16_t)763147620);
  HAS(next, U64, uint64_t, DIMS(3), 1, 0, 4);
  out = generated(PHILOX, wide, F64, DIMS(2, 0), &next);
  EMPTY(out, F64, DIMS(2, 0));
  HAS(next, U64, uint64_t, DIMS(3), 1, UINT64_MAX, 3);
  // Generating in several calls gives the same bits as in one call.
  lxla_tensor half, rest, last;
  half = generated(PHILOX, wide, U32, DIMS(4), &next);
  rest = generated(PHILOX, next, U32, DIMS(4), &last);
  uint32_t got[8];
  OK(lxla_tensor_read(half, got, 16));
  OK(lxla_tensor_read(rest, got + 4, 16));
  RELEASE(next);
  out = generated(PHILOX, wide, U32, DIMS(8), &next);
  HAS_ARRAY(out, U32, DIMS(8), got);
  RELEASE(next, half, rest, last);

  lxla_tensor narrow = ARRAY(U32, uint32_t, DIMS(2), 1, 2);
  REFUSED(lxla_rng_bit_generator(THREE_FRY, wide, U32, DIMS(1), &next, &out), LXLA_INVALID_ARGUMENT,
          "state: it is u64[3]; want u64[2]");
  REFUSED(lxla_rng_bit_generator(PHILOX, narrow, U32, DIMS(1), &next, &out), LXLA_INVALID_ARGUMENT,
          "state: it is u32[2]; want u64[2] or u64[3]");
  REFUSED(lxla_rng_bit_generator(3, state, U32, DIMS(1), &next, &out), LXLA_INVALID_ARGUMENT,
          "algorithm: 3 is not an LXLA_RNG_* constant (valid: 1 to 2)");
  REFUSED(lxla_rng_bit_generator(PHILOX, state, PRED, DIMS(1), &next, &out), LXLA_INVALID_ARGUMENT,
          "dtype: pred given");
  REFUSED(lxla_rng_bit_generator(PHILOX, state, C64, DIMS(1), &next, &out), LXLA_INVALID_ARGUMENT, "dtype: c64 given");
  REFUSED(lxla_rng_bit_generator(PHILOX, state, U32, DIMS(-1), &next, &out), LXLA_INVALID_ARGUMENT, "dims[0] is -1");
  REFUSED(lxla_rng_bit_generator(PHILOX, state, U32, DIMS(1), &next, NULL), LXLA_NULL_ARGUMENT, "out_bits");
  RELEASE(state, wide, narrow);
}

// --- Numbers of a key ---

static lxla_tensor bits(int32_t algorithm, lxla_tensor key, int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_random_bits(algorithm, key, dtype, dims, rank, &out));
  return out;
}

static lxla_tensor uniform(int32_t algorithm, lxla_tensor key, int32_t dtype, const int64_t *dims, size_t rank,
                           double low, double high) {
  lxla_tensor out;
  OK(lxla_random_uniform(algorithm, key, dtype, dims, rank, low, high, &out));
  return out;
}

// Values of jax.random for jax.random.key(42) and for the key {0xdeadbeef, 7}, in JAX 0.10.2.
static void jax_numbers(void) {
  lxla_tensor key = key_of(0, 42), other = key_of(0xdeadbeef, 7), out;
  HAS(bits(THREE_FRY, key, U32, DIMS(2, 3)), U32, uint32_t, DIMS(2, 3), 2098992034, 2919706841, 2646866425, 2409546199,
      1935504149, 2516274904);
  HAS(bits(THREE_FRY, other, S32, NULL, 0), S32, uint32_t, SCALAR, 215043025);
  HAS(bits(THREE_FRY, other, U8, DIMS(5)), U8, uint8_t, DIMS(5), 209, 106, 194, 188, 28);
  HAS(bits(THREE_FRY, other, U16, DIMS(3)), U16, uint16_t, DIMS(3), 19409, 28522, 41922);
  HAS(bits(THREE_FRY, other, U64, DIMS(3)), U64, uint64_t, DIMS(3), 5206915856274286003u, 1093751451796088396u,
      10689620148530481953u);
  OK(lxla_random_split(THREE_FRY, key, 3, &out));
  HAS(out, U32, uint32_t, DIMS(3, 2), 1832780943, 270669613, 64467757, 2916123636, 2465931498, 255383827);

  HAS(uniform(THREE_FRY, key, F32, DIMS(4), 0, 1), F32, float, DIMS(4), 0x1.f47048p-2f, 0x1.5c0e6p-1f, 0x1.3b87fp-1f,
      0x1.1f3d8p-1f);
  HAS(uniform(THREE_FRY, key, F32, DIMS(4), -1, 1), F32, float, DIMS(4), -0x1.71f7p-6f, 0x1.70398p-2f, 0x1.dc3f8p-3f,
      0x1.f3d8p-4f);
  HAS(uniform(THREE_FRY, key, F32, DIMS(4), 0, 3.7), F32, float, DIMS(4), 0x1.cee7dcp+0f, 0x1.41f3b2p+1f,
      0x1.23ddbep+1f, 0x1.09b27ep+1f);
  HAS(uniform(THREE_FRY, key, F64, DIMS(4), -1, 1), F64, double, DIMS(4), -0x1.2c1fb70efddfp-3, -0x1.f0a1334948bep-1,
      0x1.2fb20ea0f38dp-3, 0x1.d6ab4a31aa5dp-2);
  HAS(uniform(THREE_FRY, key, F64, DIMS(2), 0, 3.7), F64, double, DIMS(2), 0x1.94324411554aep+0, 0x1.c6f611ed306e7p-5);
  lxla_tensor half = uniform(THREE_FRY, key, F16, DIMS(4), 0, 3.7),
              brain = uniform(THREE_FRY, key, BF16, DIMS(4), 0, 3.7), wide;
  OK(lxla_convert(half, F64, &wide));
  HAS(wide, F64, double, DIMS(4), 0x1.208p-2, 0x1.68cp-1, 0x1.cep+1, 0x1.664p+1);
  OK(lxla_convert(brain, F64, &wide));
  HAS(wide, F64, double, DIMS(4), 0x1.2cp+1, 0x1.9p+1, 0x1.ccp+1, 0x1.8cp+1);
  OK(lxla_random_bernoulli(THREE_FRY, key, 0.3, DIMS(12), &out));
  HAS(out, PRED, uint8_t, DIMS(12), 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0);

  // Normal numbers, compared up to the last places, in f32 and f64.
  const float normal[] = {-0x1.cfbe2ap-6f, 0x1.de57dp-2f,   0x1.2eccc2p-2f,
                          0x1.3a7648p-3f,  -0x1.fc09d6p-4f, 0x1.bc4234p-3f};
  const double normal64[] = {-0x1.7a4a26c962159p-3, -0x1.15bccfaa7ba3ap+1, 0x1.7ed8110b50460p-3};
  float got[6];
  double got64[3];
  OK(lxla_random_normal(THREE_FRY, key, F32, DIMS(6), &out));
  read_f32(out, got, 6);
  for (int i = 0; i < 6; i++) CHECK(fabsf(got[i] - normal[i]) <= 1e-6f * fabsf(normal[i]));
  RELEASE(out);
  OK(lxla_random_normal(THREE_FRY, key, F64, DIMS(3), &out));
  OK(lxla_tensor_read(out, got64, sizeof got64));
  for (int i = 0; i < 3; i++) CHECK(fabs(got64[i] - normal64[i]) <= 1e-14 * fabs(normal64[i]));
  RELEASE(key, other, half, brain, out);
}

static void philox_numbers(void) {
  lxla_tensor key = key_of(5, 6), state = ARRAY(U64, uint64_t, DIMS(3), (UINT64_C(5) << 32) + 6, 0, 0), next, out;
  const uint64_t words[] = {5311993280961896125u, 9298638080179936730u, 11401446961181213285u};
  HAS_ARRAY(bits(PHILOX, key, U64, DIMS(3)), U64, DIMS(3), words);
  HAS_ARRAY(generated(PHILOX, state, U64, DIMS(3), &next), U64, DIMS(3), words);
  HAS(bits(PHILOX, key, S8, DIMS(3, 3)), S8, uint8_t, DIMS(3, 3), 189, 190, 218, 17, 101, 154, 117, 83, 220);
  OK(lxla_random_split(PHILOX, key, 2, &out));
  HAS(out, U32, uint32_t, DIMS(2, 2), (uint32_t)(words[0] >> 32), (uint32_t)words[0], (uint32_t)(words[1] >> 32),
      (uint32_t)words[1]);
  HAS(uniform(PHILOX, key, F64, DIMS(2), 0, 1), F64, double, DIMS(2), (double)(words[0] >> 12) * 0x1p-52,
      (double)(words[1] >> 12) * 0x1p-52);
  HAS(uniform(PHILOX, key, F32, DIMS(1), -1, 1), F32, float, DIMS(1), (float)(2969493181u >> 9) * 0x1p-22f - 1);
  RELEASE(key, state, next);
}

static void edges(void) {
  lxla_tensor key = key_of(1, 2), out = none;
  for (int32_t algorithm = THREE_FRY; algorithm <= PHILOX; algorithm++) {
    EMPTY(bits(algorithm, key, U64, DIMS(0, 3)), U64, DIMS(0, 3));
    EMPTY(uniform(algorithm, key, BF16, DIMS(0), 0, 1), BF16, DIMS(0));
    OK(lxla_random_normal(algorithm, key, F16, DIMS(2, 0), &out));
    EMPTY(out, F16, DIMS(2, 0));
    OK(lxla_random_bernoulli(algorithm, key, 0.5, DIMS(0), &out));
    EMPTY(out, PRED, DIMS(0));
    OK(lxla_random_split(algorithm, key, 0, &out));
    EMPTY(out, U32, DIMS(0, 2));
    OK(lxla_random_bernoulli(algorithm, key, 0, DIMS(4), &out));
    HAS(out, PRED, uint8_t, DIMS(4), 0, 0, 0, 0);
    OK(lxla_random_bernoulli(algorithm, key, 1, DIMS(4), &out));
    HAS(out, PRED, uint8_t, DIMS(4), 1, 1, 1, 1);
    // The same key gives the same numbers in any shape.
    lxla_tensor flat = uniform(algorithm, key, F32, DIMS(6), -2, 5),
                shaped = uniform(algorithm, key, F32, DIMS(3, 2), -2, 5);
    float want[6];
    read_f32(flat, want, 6);
    HAS_ARRAY(shaped, F32, DIMS(3, 2), want);
    RELEASE(flat);
  }
  // Sums that would round up to the bound: in f16, where numbers near it are 2 apart.
  out = uniform(THREE_FRY, key, F16, DIMS(300), 2048, 2050);
  uint16_t steps[300];
  OK(lxla_tensor_read(out, steps, sizeof steps));
  for (int i = 0; i < 300; i++) CHECK(steps[i] == 0x6800);
  RELEASE(out);
  out = uniform(THREE_FRY, key, F32, DIMS(300), -1e38, 0);
  float numbers[300];
  read_f32(out, numbers, 300);
  for (int i = 0; i < 300; i++) CHECK(numbers[i] >= -1e38f && numbers[i] < 0);
  RELEASE(out);

  lxla_tensor wide = ARRAY(U64, uint64_t, DIMS(2), 1, 2), three = ARRAY(U32, uint32_t, DIMS(3), 1, 2, 3);
  REFUSED(lxla_random_bits(THREE_FRY, wide, U32, DIMS(1), &out), LXLA_INVALID_ARGUMENT,
          "key: it is u64[2]; want u32[2]");
  REFUSED(lxla_random_split(PHILOX, three, 2, &out), LXLA_INVALID_ARGUMENT, "key: it is u32[3]; want u32[2]");
  REFUSED(lxla_random_split(PHILOX, key, SIZE_MAX, &out), LXLA_INVALID_ARGUMENT, "n: ");
  REFUSED(lxla_random_bits(THREE_FRY, key, F32, DIMS(1), &out), LXLA_INVALID_ARGUMENT,
          "dtype: f32 given; want integers");
  REFUSED(lxla_random_bits(0, key, U32, DIMS(1), &out), LXLA_INVALID_ARGUMENT, "algorithm: 0");
  REFUSED(lxla_random_uniform(THREE_FRY, key, S32, DIMS(1), 0, 10, &out), LXLA_INVALID_ARGUMENT,
          "dtype: s32 given; want floats");
  REFUSED(lxla_random_uniform(THREE_FRY, key, F32, DIMS(1), 1, 1, &out), LXLA_INVALID_ARGUMENT,
          "low, high: 1.0 and 1.0 in f32; want low < high");
  REFUSED(lxla_random_uniform(THREE_FRY, key, F16, DIMS(1), 1, 1.0001, &out), LXLA_INVALID_ARGUMENT,
          "in f16; want low < high");
  REFUSED(lxla_random_uniform(THREE_FRY, key, F16, DIMS(1), 0, 1e6, &out), LXLA_INVALID_ARGUMENT,
          "low, high: 0.0 and 1000000.0 in f16");
  REFUSED(lxla_random_uniform(THREE_FRY, key, F32, DIMS(1), -3e38, 3e38, &out), LXLA_INVALID_ARGUMENT,
          "their distance finite");
  REFUSED(lxla_random_uniform(THREE_FRY, key, F64, DIMS(1), NAN, 1, &out), LXLA_INVALID_ARGUMENT,
          "low, high: NaN and 1.0");
  REFUSED(lxla_random_normal(THREE_FRY, key, C64, DIMS(1), &out), LXLA_INVALID_ARGUMENT,
          "dtype: c64 given; want floats");
  REFUSED(lxla_random_bernoulli(THREE_FRY, key, 1.5, DIMS(1), &out), LXLA_INVALID_ARGUMENT,
          "p: 1.5 given; want 0 to 1");
  REFUSED(lxla_random_bernoulli(THREE_FRY, key, NAN, DIMS(1), &out), LXLA_INVALID_ARGUMENT, "p: NaN given");
  RELEASE(key, wide, three);
}

TEST(generators_give_xlas_bits) { on_both(generators); }
TEST(threefry_numbers_are_jaxs) { on_both(jax_numbers); }
TEST(philox_numbers_are_its_generators) { on_both(philox_numbers); }
TEST(random_edges) { on_both(edges); }

// --- Both devices, many numbers ---

enum { MANY = 20001 };

// Checks that both devices return the same bytes.
static void agree(int32_t algorithm, int32_t dtype, size_t size, double low, double high) {
  static unsigned char got[2][MANY * 8];
  for (int i = 0; i < 2; i++) {
    device = (lxla_device){i ? LXLA_DEVICE_CPU : LXLA_DEVICE_XLA, 0};
    lxla_tensor key = key_of(0x01234567, 0x89abcdef);
    lxla_tensor out = low < high ? uniform(algorithm, key, dtype, DIMS(3, MANY / 3), low, high)
                                 : bits(algorithm, key, dtype, DIMS(3, MANY / 3));
    OK(lxla_tensor_read(out, got[i], MANY * size));
    RELEASE(key, out);
  }
  CHECK(memcmp(got[0], got[1], MANY * size) == 0);
}

TEST(lazy_and_native_numbers_are_equal_bit_for_bit) {
  env = new_env();
  const double bounds[][2] = {{0, 1}, {-1, 1}, {-0.3, 0.6}, {1e-3, 1e3}, {-5, 0}, {2, 3}};
  const size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
  for (int32_t algorithm = THREE_FRY; algorithm <= PHILOX; algorithm++) {
    for (int32_t dtype = S8; dtype <= U64; dtype++) agree(algorithm, dtype, sizes[dtype - S8], 0, 0);
    for (int32_t dtype = F16; dtype <= BF16; dtype++)
      for (int i = 0; i < 6; i++) agree(algorithm, dtype, sizes[dtype - S8], bounds[i][0], bounds[i][1]);
  }
  OK(lxla_env_release(env));
}

TEST(normal_numbers_agree_and_are_normal) {
  env = new_env();
  static float got[2][MANY];
  for (int32_t algorithm = THREE_FRY; algorithm <= PHILOX; algorithm++) {
    for (int i = 0; i < 2; i++) {
      device = (lxla_device){i ? LXLA_DEVICE_CPU : LXLA_DEVICE_XLA, 0};
      lxla_tensor key = key_of(3, 4), out;
      OK(lxla_random_normal(algorithm, key, F32, DIMS(MANY), &out));
      read_f32(out, got[i], MANY);
      RELEASE(key, out);
    }
    double sum = 0, squares = 0, fourth = 0;
    int beyond = 0;
    for (int i = 0; i < MANY; i++) {
      double x = got[0][i];
      CHECK(fabs(x - got[1][i]) <= 4e-7 * fabs(x));
      sum += x, squares += x * x, fourth += x * x * x * x;
      beyond += fabs(x) > 1.959964;
    }
    // Checks that the mean is within four standard errors.
    CHECK(fabs(sum / MANY) < 4 / sqrt(MANY));
    CHECK(fabs(squares / MANY - 1) < 4 * sqrt(2.0 / MANY));
    CHECK(fabs(fourth / MANY - 3) < 4 * sqrt(96.0 / MANY));
    CHECK(fabs(beyond / (double)MANY - 0.05) < 4 * sqrt(0.05 * 0.95 / MANY));
  }
  OK(lxla_env_release(env));
}

// XLA's cumulative sums of many numbers are not sorted; shares of a small sum underflow.
TEST(no_element_of_probability_0_is_chosen) {
  enum { N = 100000, DRAWS = 2000000 };
  static float p[N], got[DRAWS];
  env = new_env();
  device = XLA(0);
  uint64_t state = 1;
  for (int i = 0; i < N; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    p[i] = state >> 63 ? (float)(state >> 24 & 0xffffff) / 0x1000000 : 0;
  }
  lxla_tensor key = key_of(1, 2), chances = array(F32, DIMS(N), p, sizeof p), out;
  OK(lxla_random_choice(THREE_FRY, key, chances, 0, DIMS(DRAWS), 1, chances, &out));
  read_f32(out, got, DRAWS);
  double sum = 0, sums[2] = {0, 0};
  for (int i = 0; i < DRAWS; i++) {
    CHECK(got[i] > 0);
    sum += got[i];
  }
  for (int i = 0; i < N; i++) sums[0] += p[i], sums[1] += (double)p[i] * p[i];
  // The mean of the chosen numbers, within 8 standard errors (their deviation is below 0.25).
  CHECK(fabs(sum / DRAWS - sums[1] / sums[0]) < 8 * 0.25 / sqrt(DRAWS));
  lxla_tensor few = F32S(DIMS(3), 0, 2e-38f, 0), chosen;
  OK(lxla_random_choice(THREE_FRY, key, few, 0, DIMS(200), 1, few, &chosen));
  read_f32(chosen, got, 200);
  for (int i = 0; i < 200; i++) CHECK(got[i] == 2e-38f);
  RELEASE(key, chances, out, few, chosen);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Parameters for which the distributions are not defined.
TEST(negative_and_infinite_parameters) {
  env = new_env();
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  lxla_tensor key = key_of(1, 2), out;
  lxla_tensor alpha = F32S(DIMS(6), -1e-30f, -0.5f, -3, NAN, -INFINITY, -0.0f), one = at(F32, 1);
  OK(lxla_random_gamma(THREE_FRY, key, alpha, DIMS(6), &out));
  HAS_F32(out, DIMS(6), NAN, NAN, NAN, NAN, NAN, 0);
  OK(lxla_random_log_gamma(THREE_FRY, key, alpha, DIMS(6), &out));
  HAS_F32(out, DIMS(6), NAN, NAN, NAN, NAN, NAN, -INFINITY);
  lxla_tensor a = F32S(DIMS(3), INFINITY, -0.5f, NAN);
  OK(lxla_random_beta(THREE_FRY, key, a, one, DIMS(3), &out));
  HAS_F32(out, DIMS(3), NAN, NAN, NAN);
  lxla_tensor rate = F32S(DIMS(4), -1, NAN, 1000, INFINITY);
  OK(lxla_random_poisson(THREE_FRY, key, rate, U8, DIMS(4), &out));
  HAS(out, U8, uint8_t, DIMS(4), 255, 255, 255, 255);
  OK(lxla_random_poisson(THREE_FRY, key, rate, S8, DIMS(4), &out));
  HAS(out, S8, int8_t, DIMS(4), -1, -1, 127, 127);
  RELEASE(key, alpha, one, a, rate);
  OK(lxla_env_release(env));
}

// LLVM took minutes to compile the rounds of several generators in one kernel. Against the native values.
static void numbers_of_several_keys_in_one_expression(void) {
  lxla_tensor parts[4], a, b, zero, padded, out;
  for (int i = 0; i < 4; i++) {
    lxla_tensor key = key_of(1, (uint32_t)i);
    parts[i] = uniform(THREE_FRY, key, F32, DIMS(40, 40), 0, 1);
    RELEASE(key);
  }
  OK(lxla_complex(parts[0], parts[1], &a));
  OK(lxla_complex(parts[2], parts[3], &b));
  lxla_tensor product = binary(MUL, a, b);
  OK(lxla_tensor_full(env, device, C64, NULL, 0, 0, &zero));
  OK(lxla_pad(product, zero, (int64_t[]){1, 1}, (int64_t[]){1, 1}, (int64_t[]){0, 0}, 2, &padded));
  OK(lxla_binary_scalar(ADD, padded, 1, &out));
  static float lazily[2 * 42 * 42], got[2 * 42 * 42];
  OK(lxla_tensor_read(out, is_native() ? got : lazily, sizeof got));
  if (is_native())
    for (int i = 0; i < 2 * 42 * 42; i++) CHECK(fabsf(got[i] - lazily[i]) <= 1e-6f * (1 + fabsf(got[i])));
  RELEASE(parts[0], parts[1], parts[2], parts[3], a, b, product, zero, padded, out);
}

TEST(several_generators_in_one_expression_compile) {
  alarm(100);
  on_both(numbers_of_several_keys_in_one_expression);
  alarm(0);
}

// A step does not change a key: numbers recorded with it later are the same; splitting gives new keys.
TEST(keys_change_only_by_splitting) {
  env = new_env();
  device = XLA(0);
  lxla_tensor key = key_of(0, 0), first = uniform(THREE_FRY, key, F32, DIMS(8), 0, 1), rows, row, next;
  OK(lxla_mark_step(env, XLA(0), 1));
  lxla_tensor again = uniform(THREE_FRY, key, F32, DIMS(8), 0, 1);
  OK(lxla_mark_step(env, XLA(0), 1));
  float want[8], got[8];
  read_f32(first, want, 8);
  HAS_ARRAY(again, F32, DIMS(8), want);
  OK(lxla_random_split(THREE_FRY, key, 2, &rows));
  OK(lxla_slice(rows, (int64_t[]){1, 0}, (int64_t[]){2, 2}, NULL, 2, &row));
  OK(lxla_reshape(row, DIMS(2), &next));
  lxla_tensor other = uniform(THREE_FRY, next, F32, DIMS(8), 0, 1);
  read_f32(other, got, 8);
  for (int i = 0; i < 8; i++) CHECK(got[i] != want[i]);
  // A loop over bounds compiles two programs: one with constants, one with parameters.
  uint64_t compiled = counter(env, "UncachedCompile");
  for (int i = 1; i <= 5; i++) {
    lxla_tensor some = uniform(THREE_FRY, key, F32, DIMS(8), -i, 2 * i);
    read_f32(some, got, 8);
    for (int j = 0; j < 8; j++) CHECK(got[j] >= -i && got[j] < 2 * i);
    RELEASE(some);
  }
  EQUAL(counter(env, "UncachedCompile") - compiled, 2);
  RELEASE(key, first, rows, row, next, other);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
