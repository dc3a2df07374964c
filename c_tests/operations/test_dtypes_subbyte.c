// Types of 2 and 4 bits beyond single operations, on an XLA device and natively: steps with donation, loops,
// computations, executables, files, programs in and out. dtypes_subbyte_test.py compares every code, conversion,
// bitcast and arithmetic.
#define FOLDER "test_dtypes_subbyte.folder"

#include "computation.h"
#include "few_bits.h"
#include "folder.h"

static lxla_tensor hole(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, device, dtype, dims, rank, &out));
  return out;
}

static lxla_tensor reversed(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_flip(x, (int64_t[]){0}, 1, &out));
  return out;
}

// Weights of 4 bits and their scale, as a quantized layer has them: one program for all steps, and donated buffers.
static void steps(void) {
  lxla_tensor w = ARRAY(S4, int8_t, DIMS(2, 3), -8, 7, 0, 1, -1, 3), x = F32S(DIMS(2), 0.5f, -2);
  uint64_t before = 0;
  for (int i = 0; i < 6; i++) {
    if (i == 2) before = counter(env, "UncachedCompile");
    lxla_tensor wide = as(w, F32), y, one = at(S4, 1), next = binary(ADD, w, one);
    OK(lxla_dot_general(x, wide, NULL, NULL, 0, (int64_t[]){0}, (int64_t[]){0}, 1, F32, &y));
    OK(lxla_tensor_assign(w, next));
    RELEASE(wide, one, next);
    step_now();
    float want[3];
    for (int k = 0; k < 3; k++) {
      int start[] = {-8, 7, 0, 1, -1, 3}, low[2];
      for (int row = 0; row < 2; row++) low[row] = ((start[3 * row + k] + i + 8) & 15) - 8;
      want[k] = 0.5f * (float)low[0] - 2 * (float)low[1];
    }
    HAS_ARRAY(y, F32, DIMS(3), want);
  }
  if (!is_native()) EQUAL(counter(env, "UncachedCompile"), before);
  HAS(w, S4, int8_t, DIMS(2, 3), -2, -3, 6, 7, 5, -7);
  RELEASE(x);
}
TEST(test_steps) { on_both(steps); }

// Elements of host memory: only the low bits count.
static void host(void) {
  lxla_tensor x = ARRAY(S4, uint8_t, DIMS(3), 0x0F, 0xF7, 0x18), u = ARRAY(U4, uint8_t, DIMS(2), 0xFF, 0x10);
  OK(lxla_tensor_write(x, (uint8_t[]){0x1E, 0xF8, 0x07}, 3));
  HAS(x, S4, int8_t, DIMS(3), -2, -8, 7);
  HAS(u, U4, uint8_t, DIMS(2), 15, 0);
  EMPTY(array(F4, DIMS(2, 0), NULL, 0), F4, DIMS(2, 0));
}

static lxla_computation body_of_loop(int is_scan) {
  lxla_tensor i = hole(S32, SCALAR), w = hole(S4, DIMS(3)), next = scalar(ADD, i, 1), turned = reversed(w);
  lxla_tensor x = hole(S4, DIMS(3)), sum = binary(ADD, turned, x), params[] = {i, w, x};
  lxla_computation c;
  lxla_tensor looped[] = {next, turned}, scanned[] = {next, sum, turned};
  OK(lxla_computation_trace(params, is_scan ? 3 : 2, is_scan ? scanned : looped, is_scan ? 3 : 2, &c));
  RELEASE(i, w, next, turned, x, sum);
  return c;
}

static void loops(void) {
  lxla_tensor i = hole(S32, SCALAR), w = hole(S4, DIMS(3)), goes_on;
  OK(lxla_compare_scalar(LXLA_COMPARE_LT, i, 5, &goes_on));
  lxla_computation cond, body = body_of_loop(0), iteration = body_of_loop(1);
  OK(lxla_computation_trace((lxla_tensor[]){i, w}, 2, &goes_on, 1, &cond));
  RELEASE(i, w, goes_on);
  lxla_tensor init[] = {at(S32, 0), ARRAY(S4, int8_t, DIMS(3), -8, 0, 7)}, out[2], ys;
  OK(lxla_while(cond, body, init, 2, out));
  HAS(out[0], S32, int32_t, SCALAR, 5);
  HAS(out[1], S4, int8_t, DIMS(3), 7, 0, -8);
  lxla_tensor xs = ARRAY(S4, int8_t, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_scan(iteration, init, 2, &xs, 1, 2, 0, out, &ys, 1));
  HAS(out[1], S4, int8_t, DIMS(3), -1, 7, -2);
  HAS(ys, S4, int8_t, DIMS(2, 3), 7, 0, -8, -5, 2, -8);
  RELEASE(init[0], init[1], xs, out[0]);
  OK(lxla_computation_release(cond));
  OK(lxla_computation_release(body));
  OK(lxla_computation_release(iteration));
}

TEST(test_host) { on_both(host); }
TEST(test_loops) { on_both(loops); }

// Files of safetensors have floats of 4 bits, two in a byte, and no integers of 4 bits.
static void saved_weights(void) {
  const char *names[] = {"w", "x"};
  lxla_tensor w = ARRAY(F4, uint8_t, DIMS(3, 2), 1, 15, 0, 8, 7, 6), x = F32S(DIMS(1), 2.5f), loaded;
  lxla_tensor odd = ARRAY(F4, uint8_t, DIMS(3), 1, 2, 3), whole = ARRAY(S4, int8_t, DIMS(2), 1, 2);
  clear("");
  OK(lxla_save(FOLDER "/weights.safetensors", names, (lxla_tensor[]){w, x}, 2));
  OK(lxla_load(env, device, FOLDER "/weights.safetensors", "w", &loaded));
  HAS(loaded, F4, uint8_t, DIMS(3, 2), 1, 15, 0, 8, 7, 6);
  OK(lxla_load(env, device, FOLDER "/weights.safetensors", "x", &loaded));
  HAS_F32(loaded, DIMS(1), 2.5f);
  FILE *file = fopen(FOLDER "/weights.safetensors", "rb");
  CHECK(file && fseek(file, -3, SEEK_END) == 0);
  EQUAL(fgetc(file), 0xF1);
  EQUAL(fgetc(file), 0x80);
  EQUAL(fgetc(file), 0x67);
  fclose(file);
  REFUSED(lxla_save(FOLDER "/weights.safetensors", names, &odd, 1), BAD, "an even number of elements of 4 bits");
  REFUSED(lxla_save(FOLDER "/weights.safetensors", names, &whole, 1), BAD, "the safetensors format has no s4");
  remove_folder();
  RELEASE(w, x, odd, whole);
}
TEST(test_files) { on_both(saved_weights); }

static lxla_computation imported(const char *text) {
  lxla_computation c;
  OK(lxla_computation_import(env, text, strlen(text), NULL, &c));
  return c;
}

// As JAX writes programs of int4: arguments, constants, arithmetic, products and bitcasts of 4 bits.
static const char *const PROGRAM =
    "module @m {\n"
    "  func.func public @main(%w: tensor<2x4xi4>, %u: tensor<2x4xui4>, %f: tensor<4xf4E2M1FN>)\n"
    "      -> (tensor<2x4xi4>, tensor<2x2xi32>, tensor<2x2xi8>, tensor<4xf32>, tensor<2x4xf4E2M1FN>, tensor<2xi4>) {\n"
    "    %c = stablehlo.constant dense<[-8, 7, 1, -1]> : tensor<4xi4>\n"
    "    %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xi4>) -> tensor<2x4xi4>\n"
    "    %s = stablehlo.add %w, %b : tensor<2x4xi4>\n"
    "    %v = stablehlo.convert %u : (tensor<2x4xui4>) -> tensor<2x4xi4>\n"
    "    %d = stablehlo.dot_general %s, %v, contracting_dims = [1] x [1]\n"
    "        : (tensor<2x4xi4>, tensor<2x4xi4>) -> tensor<2x2xi32>\n"
    "    %r = stablehlo.reshape %u : (tensor<2x4xui4>) -> tensor<2x2x2xui4>\n"
    "    %p = stablehlo.bitcast_convert %r : (tensor<2x2x2xui4>) -> tensor<2x2xi8>\n"
    "    %g = stablehlo.convert %f : (tensor<4xf4E2M1FN>) -> tensor<4xf32>\n"
    "    %h = stablehlo.convert %w : (tensor<2x4xi4>) -> tensor<2x4xf4E2M1FN>\n"
    "    %zero = stablehlo.constant dense<0> : tensor<i4>\n"
    "    %t = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1]\n"
    "        : (tensor<2x4xi4>, tensor<i4>) -> tensor<2xi4>\n"
    "    return %s, %d, %p, %g, %h, %t : tensor<2x4xi4>, tensor<2x2xi32>, tensor<2x2xi8>, tensor<4xf32>,\n"
    "        tensor<2x4xf4E2M1FN>, tensor<2xi4>\n"
    "  }\n"
    "}\n";

static void check_program(lxla_tensor *out) {
  HAS(out[0], S4, int8_t, DIMS(2, 4), -8, -8, 3, 2, -4, -3, -8, 6);
  HAS(out[1], S32, int32_t, DIMS(2, 2), 0, 141, -47, -3);
  HAS(out[2], S8, int8_t, DIMS(2, 2), 0x10, -28, (int8_t)0x98, 0x07);
  HAS_F32(out[3], DIMS(4), 0, 0.5f, -6, -1);
  HAS(out[4], F4, uint8_t, DIMS(2, 4), 0, 2, 4, 5, 6, 7, 7, 7);
  HAS(out[5], S4, int8_t, DIMS(2), 6, -8);
}

static void inputs(lxla_tensor *in) {
  in[0] = ARRAY(S4, int8_t, DIMS(2, 4), 0, 1, 2, 3, 4, 6, 7, 7);
  in[1] = ARRAY(U4, uint8_t, DIMS(2, 4), 0, 1, 4, 14, 8, 9, 7, 0);
  in[2] = ARRAY(F4, uint8_t, DIMS(4), 0, 1, 15, 10);
}

static void programs(void) {
  lxla_computation c = imported(PROGRAM), again;
  lxla_tensor in[3], out[6];
  inputs(in);
  OK(lxla_computation_call(c, in, 3, out, 6));
  check_program(out);
  char *text;
  OK(lxla_computation_stablehlo(c, &text));
  CHECK(strstr(text, "tensor<2x4xi4>") && strstr(text, "tensor<4xf4E2M1FN>"));
  lxla_string_free(text);
  clear("");
  lxla_export_options options = {.struct_size = sizeof options};
  OK(lxla_export_options_init(&options));
  OK(lxla_computation_export(c, &options, FOLDER "/weights.mlirbc"));
  OK(lxla_computation_import_file(env, FOLDER "/weights.mlirbc", NULL, &again));
  OK(lxla_computation_call(again, in, 3, out, 6));
  check_program(out);
  remove_folder();
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(again));
  RELEASE(in[0], in[1], in[2]);
}
TEST(test_programs) { on_both(programs); }

static void executables(void) {
  lxla_computation c = imported(PROGRAM);
  lxla_executable e, loaded;
  OK(lxla_executable_compile(c, device, NULL, &e));
  lxla_tensor in[3], out[6];
  inputs(in);
  OK(lxla_executable_run(e, in, 3, out, 6));
  check_program(out);
  clear("");
  OK(lxla_executable_save(e, FOLDER "/weights.lxla"));
  OK(lxla_executable_load(env, device, FOLDER "/weights.lxla", &loaded));
  OK(lxla_executable_run(loaded, in, 3, out, 6));
  check_program(out);
  // The bits above the values of inputs do not count.
  const uint8_t w[8] = {0xF0, 1, 2, 3, 4, 6, 7, 0x17}, u[8] = {0x20, 1, 4, 14, 8, 9, 7, 0}, f[4] = {0x10, 1, 15, 10};
  uint8_t sums[8], packed[4], codes[8], totals[2];
  int32_t products[4];
  float floats[4];
  OK(lxla_executable_run_host(loaded, (const void *[]){w, u, f}, (size_t[]){8, 8, 4}, 3,
                              (void *[]){sums, products, packed, floats, codes, totals},
                              (size_t[]){8, sizeof products, 4, sizeof floats, 8, 2}, 6));
  CHECK(memcmp(sums, (int8_t[]){-8, -8, 3, 2, -4, -3, -8, 6}, 8) == 0);
  CHECK(memcmp(products, (int32_t[]){0, 141, -47, -3}, sizeof products) == 0);
  CHECK(memcmp(codes, (uint8_t[]){0, 2, 4, 5, 6, 7, 7, 7}, 8) == 0 && totals[0] == 6 && floats[2] == -6);
  remove_folder();
  OK(lxla_executable_release(e));
  OK(lxla_executable_release(loaded));
  OK(lxla_computation_release(c));
  RELEASE(in[0], in[1], in[2]);
}
TEST(test_executables) { on_both(executables); }

// Parts of complex numbers: the first is in the low bits of the real part.
static void parts_of_complex(void) {
  lxla_tensor x = ARRAY(U4, uint8_t, DIMS(16), 0, 0, 0, 0, 0, 8, 15, 3, 0, 0, 0, 0, 0, 0, 0, 12), z, back;
  OK(lxla_bitcast_convert(x, C64, &z));
  OK(lxla_bitcast_convert(z, U4, &back));
  HAS(z, C64, float, SCALAR, 1, -2);
  HAS(back, U4, uint8_t, DIMS(16), 0, 0, 0, 0, 0, 8, 15, 3, 0, 0, 0, 0, 0, 0, 0, 12);
  RELEASE(x);
}
TEST(test_parts_of_complex) { on_both(parts_of_complex); }

// Operations that take no such types say so; nothing is lost.
static void refusals(void) {
  lxla_tensor x = ARRAY(S4, int8_t, DIMS(2), 1, 2), y = ARRAY(S8, int8_t, DIMS(2), 1, 2), out, key;
  REFUSED(lxla_binary(ADD, x, y, &out), BAD, "s4 and s8 do not promote");
  REFUSED(lxla_tensor_full(env, device, S4, DIMS(2), 8, &out), BAD, "cannot be represented in s4");
  REFUSED(lxla_softmax(x, 0, &out), BAD, "s4");
  REFUSED(lxla_tensor_from_host(env, device, S4, DIMS(2), (uint8_t[]){1}, 1, &out), BAD, "s4[2] has 2 bytes");
  key = ARRAY(U32, uint32_t, DIMS(2), 1, 2);
  REFUSED(lxla_random_bits(LXLA_RNG_PHILOX, key, S4, DIMS(2), &out), BAD, "s4");
  lxla_tensor empty = hole(S4, DIMS(2));
  REFUSED(lxla_tensor_read(empty, (int8_t[2]){0}, 2), LXLA_FAILED_PRECONDITION, "placeholder");
  HAS(x, S4, int8_t, DIMS(2), 1, 2);
  RELEASE(y, key, empty);
}
TEST(test_refusals) { on_both(refusals); }

// Many elements, an odd number of them, of every type and in parts.
static void large(void) {
  enum { COUNT = 70001 };
  static uint8_t codes[COUNT], back[COUNT];
  for (int i = 0; i < COUNT; i++) codes[i] = (uint8_t)((unsigned)i * 2654435761u >> 28);
  lxla_tensor x = array(U4, DIMS(COUNT), codes, COUNT);
  if (!is_native()) EQUAL(counter(env, "LiveBytes"), (COUNT + 1) / 2);  // packed
  lxla_tensor turned = reversed(x), part, two[2], all;
  OK(lxla_slice(x, (int64_t[]){1}, (int64_t[]){COUNT}, (int64_t[]){3}, 1, &part));
  two[0] = part, two[1] = turned;
  OK(lxla_concatenate(two, 2, 0, &all));
  lxla_tensor bytes = as(all, U8), third;
  step_now();
  OK(lxla_slice(bytes, (int64_t[]){0}, (int64_t[]){COUNT / 3}, NULL, 1, &third));
  OK(lxla_tensor_read(turned, back, COUNT));
  for (int i = 0; i < COUNT; i++) EQUAL(back[i], codes[COUNT - 1 - i]);
  OK(lxla_tensor_read(third, back, COUNT / 3));
  for (int i = 0; i < COUNT / 3; i++) EQUAL(back[i], codes[1 + 3 * i]);
  RELEASE(x, turned, part, all, bytes, third);
}
TEST(test_large) { on_both(large); }
