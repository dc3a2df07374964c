// The option `matmul_precision` and the precision that operations of imported programs state: in the text of programs,
// in keys, through transformations, in exports and executables.
#include "computation.h"

#define FOLDER "test_precision.folder"
#include "folder.h"

static const char *const NAMES[] = {"highest",          "high",
                                    "default",          "f16_f16_f16",
                                    "f16_f16_f32",      "bf16_bf16_bf16",
                                    "bf16_bf16_f32",    "bf16_bf16_f32_x3",
                                    "bf16_bf16_f32_x6", "bf16_bf16_f32_x9",
                                    "tf32_tf32_f32",    "tf32_tf32_f32_x3",
                                    "f32_f32_f32",      "f64_f64_f64"};
enum { N_NAMES = sizeof NAMES / sizeof *NAMES };

static void set(lxla_env env, const char *precision) { OK(lxla_env_set_option(env, "matmul_precision", precision)); }

// Checks how often words occur in the text of the program of a tensor.
static void has(lxla_tensor t, const char *words, int count) {
  char *text = text_of(t);
  if (occurrences(text, words) != count)
    FAIL("%d of \"%s\" in %s, want %d", occurrences(text, words), words, text, count);
  lxla_string_free(text);
}

// The same for the text of a computation.
static void computation_has(lxla_computation c, const char *words, int count) {
  char *text;
  OK(lxla_computation_stablehlo(c, &text));
  if (occurrences(text, words) != count)
    FAIL("%d of \"%s\" in %s, want %d", occurrences(text, words), words, text, count);
  lxla_string_free(text);
}

static lxla_tensor numbers(lxla_env env, int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor t, counted, converted;
  int64_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= dims[i];
  OK(lxla_arange(env, XLA(0), LXLA_DTYPE_F32, 0, (double)n, 1, &counted));
  OK(lxla_reshape(counted, dims, rank, &t));
  OK(lxla_convert(t, dtype, &converted));
  RELEASE(t, counted);
  return converted;
}

static lxla_tensor squared(lxla_env env, int32_t dtype) {
  lxla_tensor x = numbers(env, dtype, DIMS(4, 4)), y;
  OK(lxla_matmul(x, x, &y));
  RELEASE(x);
  return y;
}

TEST(the_names_of_precisions_are_values_of_the_option) {
  lxla_env env = new_env();
  char *text;
  OK(lxla_env_get_option(env, "matmul_precision", &text));
  CHECK(strcmp(text, "highest") == 0);
  lxla_string_free(text);
  for (int i = 0; i < N_NAMES; i++) {
    set(env, NAMES[i]);
    OK(lxla_env_get_option(env, "matmul_precision", &text));
    CHECK(strcmp(text, NAMES[i]) == 0);
    lxla_string_free(text);
  }
  const char *wrong[] = {"", "HIGHEST", "tf32", "bf16_bf16_f32_x4", "any_f8_any_f8_f32"};
  for (int i = 0; i < 5; i++)
    REFUSED(lxla_env_set_option(env, "matmul_precision", wrong[i]), LXLA_INVALID_ARGUMENT,
            "want one of highest, high, default, f16_f16_f16, f16_f16_f32, bf16_bf16_bf16");
  OK(lxla_env_get_option(env, "matmul_precision", &text));
  CHECK(strcmp(text, "f64_f64_f64") == 0);
  lxla_string_free(text);
  OK(lxla_env_release(env));
}

// The plugins of the suite compute in full precision whatever is asked: products of whole numbers are exact.
TEST(a_program_is_compiled_for_each_precision_once) {
  lxla_env env = new_env();
  uint8_t hashes[N_NAMES][32];
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < N_NAMES; i++) {
      set(env, NAMES[i]);
      lxla_tensor y = squared(env, LXLA_DTYPE_F32);
      uint64_t before = counter(env, "UncachedCompile");
      uint8_t hash[32];
      OK(lxla_graph_hash(env, XLA(0), &y, 1, hash));
      float got[16];
      read_f32(y, got, 16);
      EQUAL(got[0], 0 * 0 + 1 * 4 + 2 * 8 + 3 * 12);
      EQUAL(got[15], 12 * 3 + 13 * 7 + 14 * 11 + 15 * 15);
      EQUAL(counter(env, "UncachedCompile") - before, turn == 0);
      for (int k = 0; k < i; k++) CHECK(memcmp(hash, hashes[k], 32) != 0);
      if (turn == 1) CHECK(memcmp(hash, hashes[i], 32) == 0);
      memcpy(hashes[i], hash, 32);
      RELEASE(y);
    }
  }
  OK(lxla_env_release(env));
}

TEST(programs_on_disk_are_of_one_precision) {
  clear("");
  const char *of[] = {"highest", "default", "highest", "default"};
  for (int i = 0; i < 4; i++) {
    lxla_env_options options = default_options();
    options.cache_dir = FOLDER;
    lxla_env env;
    OK(lxla_env_create(&options, &env));
    set(env, of[i]);
    lxla_tensor y = squared(env, LXLA_DTYPE_F32);
    OK(lxla_sync(&y, 1));
    EQUAL(counter(env, "PersistentCacheHit"), i >= 2);
    EQUAL(counter(env, "PersistentCacheMiss"), i < 2);
    RELEASE(y);
    OK(lxla_env_release(env));
  }
  clear("");
}

#define TF32 "algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "

TEST(products_are_written_with_the_precision_of_the_environment) {
  lxla_env env = new_env();
  lxla_tensor y = squared(env, LXLA_DTYPE_F32);
  has(y, "precision = [HIGHEST, HIGHEST]", 1);
  set(env, "high");
  has(y, "precision = [HIGH, HIGH]", 1);
  set(env, "default");
  has(y, "precision = [DEFAULT, DEFAULT]", 1);
  set(env, "tf32_tf32_f32");
  has(y, "precision = [DEFAULT, DEFAULT], " TF32, 1);
  has(y, "num_primitive_operations = 1,", 1);
  set(env, "bf16_bf16_f32_x6");
  has(y, "lhs_precision_type = bf16,", 1);
  has(y, "num_primitive_operations = 6,", 1);
  RELEASE(y);
  // Algorithms compute products of their dtypes; other products lose nothing.
  set(env, "tf32_tf32_f32");
  const int32_t others[] = {LXLA_DTYPE_F64, LXLA_DTYPE_S32, LXLA_DTYPE_BF16, LXLA_DTYPE_C64};
  for (int i = 0; i < 4; i++) {
    y = squared(env, others[i]);
    has(y, "precision = [HIGHEST, HIGHEST]", 1);
    has(y, "algorithm", 0);
    RELEASE(y);
  }
  set(env, "bf16_bf16_f32");
  y = squared(env, LXLA_DTYPE_BF16);
  has(y, "lhs_precision_type = bf16,", 1);
  RELEASE(y);
  OK(lxla_env_release(env));
}

TEST(convolutions_have_levels_that_lose_no_more_than_the_algorithm) {
  lxla_env env = new_env();
  const char *levels[N_NAMES] = {"HIGHEST", "HIGH",    "DEFAULT", "HIGHEST", "HIGHEST", "HIGHEST", "DEFAULT",
                                 "HIGHEST", "HIGHEST", "HIGHEST", "HIGH",    "HIGHEST", "HIGHEST", "HIGHEST"};
  lxla_tensor x = numbers(env, LXLA_DTYPE_F32, DIMS(1, 2, 5)), k = numbers(env, LXLA_DTYPE_F32, DIMS(3, 2, 2)), y;
  lxla_convolution_options options;
  options.struct_size = sizeof options;
  OK(lxla_convolution_options_init(&options));
  OK(lxla_convolution(x, k, &options, &y));
  for (int i = 0; i < N_NAMES; i++) {
    char words[120];
    set(env, NAMES[i]);
    snprintf(words, sizeof words, "[#stablehlo<precision %s>, #stablehlo<precision %s>]", levels[i], levels[i]);
    has(y, words, 1);
    has(y, "algorithm", 0);
  }
  RELEASE(x, k, y);
  OK(lxla_env_release(env));
}

// Factorizations and the rules of their derivatives lose nothing, whatever the option says.
TEST(factorizations_keep_full_precision) {
  lxla_env env = new_env();
  set(env, "default");
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(3, 3)), l, sum;
  OK(lxla_cholesky(p, 1, &l));
  OK(lxla_reduce(LXLA_REDUCE_SUM, l, NULL, 0, 0, &sum));
  lxla_computation f = traced(TENSORS(p), TENSORS(sum)), g;
  OK(lxla_computation_value_and_grad(f, NULL, &g));
  char *text;
  OK(lxla_computation_stablehlo(g, &text));
  CHECK(occurrences(text, "precision = [HIGHEST, HIGHEST]") > 0);
  EQUAL(occurrences(text, "DEFAULT"), 0);
  lxla_string_free(text);
  RELEASE(p, l, sum);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  OK(lxla_env_release(env));
}

// The portable forms of factorizations, which programs for accelerators have, are made of products.
TEST(portable_factorizations_keep_full_precision) {
  lxla_env env = new_env();
  set(env, "default");
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(40, 40)), results[9];
  OK(lxla_qr(p, 0, &results[0], &results[1]));
  OK(lxla_svd(p, 0, &results[2], &results[3], &results[4]));
  OK(lxla_inverse(p, &results[5]));
  OK(lxla_lstsq(p, p, -1, &results[6]));
  OK(lxla_eigh(p, 1, &results[7], &results[8]));
  lxla_computation f = traced(TENSORS(p), results, 9);
  char *text;
  OK(lxla_computation_stablehlo(f, &text));
  CHECK(occurrences(text, "precision = [HIGHEST, HIGHEST]") > 5);
  EQUAL(occurrences(text, "DEFAULT"), 0);
  lxla_string_free(text);
  for (int i = 0; i < 9; i++) RELEASE(results[i]);
  RELEASE(p);
  OK(lxla_computation_release(f));
  OK(lxla_env_release(env));
}

// One product of each kind of statement, and a convolution.
static const char STATED[] =
    "func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %k: tensor<1x1x2xf32>) -> tensor<f32> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT]"
    " : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT],"
    " algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,"
    " lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3,"
    " allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0]"
    " : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %3 = stablehlo.reshape %2 : (tensor<4x4xf32>) -> tensor<4x1x4xf32>\n"
    "  %4 = stablehlo.convolution(%3, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {}"
    " {batch_group_count = 1 : i64, feature_group_count = 1 : i64,"
    " precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]}"
    " : (tensor<4x1x4xf32>, tensor<1x1x2xf32>) -> tensor<4x1x3xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0, 1, 2]"
    " : (tensor<4x1x3xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %5 : tensor<f32>\n"
    "}\n";

static lxla_computation imported(lxla_env env, const char *text) {
  lxla_computation c;
  OK(lxla_computation_import(env, text, strlen(text), NULL, &c));
  return c;
}

// Checks how many operations of a computation state each precision.
static void states(lxla_computation c, int mixed, int algorithm, int free_ones, int convolutions) {
  computation_has(c, "precision = [HIGH, DEFAULT]", mixed);
  computation_has(c, "num_primitive_operations = 3,", algorithm);
  computation_has(c, "precision = [HIGHEST, HIGHEST]", free_ones);
  computation_has(c, "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]", convolutions);
}

TEST(imports_keep_what_operations_state) {
  lxla_env env = new_env();
  lxla_computation f = imported(env, STATED);
  states(f, 1, 1, 1, 1);
  set(env, "high");
  computation_has(f, "precision = [HIGH, HIGH]", 1);
  states(f, 1, 1, 0, 1);
  // An attribute of an operation decides, not the option; in the program that is compiled, too.
  lxla_tensor args[] = {numbers(env, LXLA_DTYPE_F32, DIMS(4, 4)), numbers(env, LXLA_DTYPE_F32, DIMS(4, 4)),
                        numbers(env, LXLA_DTYPE_F32, DIMS(1, 1, 2))};
  lxla_tensor y = called(f, args, 3);
  has(y, "precision = [HIGH, DEFAULT]", 1);
  has(y, "num_primitive_operations = 3,", 1);
  has(y, "precision = [HIGH, HIGH]", 1);
  CHECK(value(y) > 0);
  RELEASE(args[0], args[1], args[2], y);
  OK(lxla_computation_release(f));
  OK(lxla_env_release(env));
}

TEST(transformations_keep_what_operations_state) {
  lxla_env env = new_env();
  lxla_computation f = imported(env, STATED), jvp, gradient, batched;
  OK(lxla_computation_jvp(f, NULL, 0, &jvp));
  states(jvp, 3, 3, 3, 3);
  OK(lxla_computation_value_and_grad(f, NULL, &gradient));
  states(gradient, 3, 3, 3, 3);
  const int64_t mapped[] = {0, 0, 0}, none[] = {-1, 0, -1}, out = 0;
  const int64_t *axes[] = {mapped, none};
  for (int i = 0; i < 2; i++) {
    OK(lxla_computation_vmap(f, axes[i], 3, &out, 1, 2, &batched));
    states(batched, 1, 1, 1, 1);
    OK(lxla_computation_release(batched));
  }
  OK(lxla_computation_release(jvp));
  OK(lxla_computation_release(gradient));
  OK(lxla_computation_release(f));
  OK(lxla_env_release(env));
}

static lxla_computation exported_again(lxla_env env, lxla_computation c, int32_t format, const char *path) {
  lxla_export_options options;
  options.struct_size = sizeof options;
  OK(lxla_export_options_init(&options));
  options.format = format;
  OK(lxla_computation_export(c, &options, path));
  lxla_computation again;
  OK(lxla_computation_import_file(env, path, NULL, &again));
  return again;
}

TEST(exports_state_the_precision_of_every_operation) {
  clear("");
  lxla_env env = new_env(), plain = new_env();
  set(env, "default");
  const int32_t formats[] = {LXLA_EXPORT_TEXT, LXLA_EXPORT_FOLDER, LXLA_EXPORT_JAX};
  const char *paths[] = {FOLDER "/a.mlir", FOLDER "/a", FOLDER "/a.jax"};
  for (int i = 0; i < 3; i++) {
    lxla_computation f = imported(env, STATED), again = exported_again(plain, f, formats[i], paths[i]);
    states(again, 1, 1, 0, 1);
    // The algorithm is written beside levels that XLA wants to be DEFAULT.
    computation_has(again, "precision = [DEFAULT, DEFAULT]", 2);
    OK(lxla_computation_release(f));
    OK(lxla_computation_release(again));
  }
  clear("");
  OK(lxla_env_release(env));
  OK(lxla_env_release(plain));
}

// The program in the file states the precision, which a later compile, where the option differs, keeps.
TEST(executables_keep_the_precision_of_their_compile) {
  clear("");
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(4, 4)), y;
  OK(lxla_matmul(p, p, &y));
  lxla_computation f = traced(TENSORS(p), TENSORS(y)), program;
  lxla_executable e, again;
  set(env, "tf32_tf32_f32");
  OK(lxla_executable_compile(f, XLA(0), NULL, &e));
  set(env, "highest");
  OK(lxla_executable_save(e, FOLDER "/e"));
  // The program stands behind two hashes and six numbers; the fifth is its size.
  static unsigned char bytes[1 << 20];
  FILE *file = fopen(FOLDER "/e", "rb");
  CHECK(file && fread(bytes, 1, sizeof bytes, file) > 200);
  fclose(file);
  uint64_t size;
  memcpy(&size, bytes + 16 + 32 + 32 + 4 * 8, 8);
  OK(lxla_computation_import(env, bytes + 16 + 32 + 32 + 6 * 8, size, NULL, &program));
  computation_has(program, TF32, 1);
  OK(lxla_executable_load(env, XLA(0), FOLDER "/e", &again));
  EQUAL(counter(env, "ExecutableRecompiled"), 0);
  OK(lxla_executable_release(e));
  OK(lxla_executable_release(again));
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(program));
  RELEASE(p, y);
  clear("");
  OK(lxla_env_release(env));
}

TEST(the_description_of_a_computation_counts_what_operations_state) {
  lxla_env env = new_env();
  lxla_computation f = imported(env, STATED);
  char *text;
  OK(lxla_computation_describe(f, &text));
  CHECK(strstr(text, "\"precisions\":{\"bf16_bf16_f32_x3\":1,\"default, high\":1,\"high, default\":1}"));
  lxla_string_free(text);
  OK(lxla_computation_release(f));
  OK(lxla_env_release(env));
}

// Floats of 8 bits, types that are not the operands', and numbers of operations that XLA does not have.
TEST(algorithms_that_are_not_known_lose_nothing) {
  lxla_env env = new_env();
  set(env, "default");
  const char *parts[][3] = {{"f8E5M2", "f32", "1"}, {"tf32", "f32", "2"}, {"f16", "f64", "1"}, {"f64", "f64", "1"}};
  for (int i = 0; i < 4; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
             "  %%0 = stablehlo.dot_general %%a, %%a, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT],"
             " algorithm = <lhs_precision_type = %s, rhs_precision_type = %s, accumulation_type = %s,"
             " lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = %s,"
             " allow_imprecise_accumulation = false> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
             "  return %%0 : tensor<2x2xf32>\n"
             "}\n",
             parts[i][0], parts[i][0], parts[i][1], parts[i][2]);
    lxla_computation f = imported(env, text);
    computation_has(f, "precision = [HIGHEST, HIGHEST]", 1);
    OK(lxla_computation_release(f));
  }
  OK(lxla_env_release(env));
}

TEST(levels_that_are_not_known_are_refused) {
  lxla_env env = new_env();
  const char text[] =
      "func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
      "  %0 = \"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions ="
      " [1], rhs_contracting_dimensions = [0]>, precision_config = [1 : i32, 2 : i32]}"
      " : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
      "  return %0 : tensor<2x2xf32>\n"
      "}\n";
  lxla_computation c;
  REFUSED(lxla_computation_import(env, text, strlen(text), NULL, &c), LXLA_INVALID_ARGUMENT,
          "precision_config: want two of DEFAULT, HIGH and HIGHEST");
  OK(lxla_env_release(env));
}
