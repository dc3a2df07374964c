// Shardings of tensors on meshes, their programs on disk, and what is refused: M2, K8 and M10 of docs/behaviours.md.
#define _GNU_SOURCE
#include "mesh.h"

#define FOLDER "test_mesh_shardings.cache"
#include "folder.h"

// --- M2: shardings ---

// Checks that a sharding that XLA chose is a text that the library takes.
static void has_some_sharding(lxla_tensor t) {
  char *text;
  OK(lxla_tensor_sharding(t, &text));
  HAS_SHARDING(constrained(t, text), text);
  lxla_string_free(text);
}

MESH_TEST(m2_a_constraint_states_the_sharding_of_a_result, "data=2,model=4") {
  const lxla_tensor x = counting(DIMS(8, 8), "data,-"), y = times(x, 2);
  float want[64];
  for (int i = 0; i < 64; i++) want[i] = (float)i * 2;
  const char *const texts[] = {"-,model", "model,data", "data+model,-", "-,model+data", "data,-", "-,-"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const lxla_tensor c = constrained(y, texts[i]);
    EQUAL(state_of(c), LXLA_STATE_PENDING);
    HAS_SHARDING(c, texts[i]);
    HAS_PIECES(c, want, texts[i]);
    HAS_VALUES(c, want, 64);
  }
  HAS_SHARDING(constrained(y, ""), "-,-");
  // On the way to a result, a constraint does not change values.
  const lxla_tensor z = plus(constrained(plus(constrained(y, "model,-"), 1), "-,data"), 1);
  mesh_step();
  float more[64];
  for (int i = 0; i < 64; i++) more[i] = want[i] + 2;
  HAS_VALUES(z, more, 64);
  HAS_SHARDING(constrained(z, "model,-"), "model,-");
}

MESH_TEST(m2_xla_chooses_the_sharding_of_other_results, "data=2,model=4") {
  const lxla_tensor a = counting(DIMS(8, 8), "data,model"), b = counting(DIMS(8, 8), "data,model");
  const lxla_tensor sum = add(a, b), of_all = total(a), square = product(a, b);
  mesh_step();
  float want[64], products[64] = {0};
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 8; k++) {
      want[i * 8 + k] = (float)(2 * (i * 8 + k));
      for (int m = 0; m < 8; m++) products[i * 8 + k] += (float)((i * 8 + m) * (m * 8 + k));
    }
  HAS_VALUES(sum, want, 64);
  HAS_VALUES(square, products, 64);
  EQUAL(value(of_all), 63 * 64 / 2);
  has_some_sharding(sum);
  has_some_sharding(square);
  HAS_SHARDING(of_all, "");
}

MESH_TEST(m2_updates_in_place_keep_their_sharding, "data=2,model=4") {
  const char *const texts[] = {"data,model", "-,data+model", "model,-", "-,-"};
  for (size_t i = 0; i < 4; i++) {
    const lxla_tensor x = counting(DIMS(8, 8), texts[i]), change = counting(DIMS(8, 8), "data,-");
    float want[64];
    for (int k = 0; k < 64; k++) want[k] = (float)k;
    for (int turn = 0; turn < 3; turn++) {
      OK(lxla_binary_scalar_inplace(MUL, x, 0.5));
      OK(lxla_binary_inplace(ADD, x, change));
      EQUAL(mesh_step(), 1);
      for (int k = 0; k < 64; k++) want[k] = want[k] * 0.5f + (float)k;
      HAS_SHARDING(x, texts[i]);
      HAS_PIECES(x, want, texts[i]);
    }
    // Values of the host take the sharding of the value that they replace.
    OK(lxla_tensor_write(x, numbers(), 64 * sizeof(float)));
    HAS_SHARDING(x, texts[i]);
    HAS_PIECES(x, numbers(), texts[i]);
  }
}

// The product of x, f32[8,16], and w, f32[16,4], by a plain loop.
static void plain_product(const float *x, const float *w, float *out) {
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 4; k++) {
      out[i * 4 + k] = 0;
      for (int m = 0; m < 16; m++) out[i * 4 + k] += x[i * 16 + m] * w[m * 4 + k];
    }
}

MESH_TEST(m2_a_matmul_with_any_shardings_equals_the_plain_loop, "data=2,model=4") {
  const struct {
    const char *x, *w, *result;
  } cases[] = {{"data,-", "-,model", "data,model"},     {"data,-", "", "data,-"},
               {"-,model", "model,-", "-,-"},           {"data,model", "model,-", "data,-"},
               {"data+model,-", "", "data+model,-"},    {"-,model+data", "data+model,-", "-,data"},
               {"model,data", "data,model", "model,-"}, {"", "-,model", "-,model"},
               {"-,data", "model,-", "data,model"}};
  float x[128], w[64], want[32];
  for (int i = 0; i < 128; i++) x[i] = (float)(i * 7 % 11 - 5);
  for (int i = 0; i < 64; i++) w[i] = (float)(i * 5 % 13 - 6);
  plain_product(x, w, want);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const lxla_tensor a = split_of(F32, DIMS(8, 16), x, sizeof x, cases[i].x);
    const lxla_tensor b = split_of(F32, DIMS(16, 4), w, sizeof w, cases[i].w);
    const lxla_tensor y = product(a, b), c = constrained(product(a, b), cases[i].result);
    mesh_step();
    HAS_VALUES(y, want, 32);
    has_some_sharding(y);
    HAS_SHARDING(c, cases[i].result);
    HAS_PIECES(c, want, cases[i].result);
  }
}

MESH_TEST(m2_the_text_of_a_program_has_its_mesh_and_shardings, "data=2,model=4") {
  const lxla_tensor x = counting(DIMS(8, 8), "data,-"), whole = own(array(F32, DIMS(8), numbers(), 32));
  const lxla_tensor y = constrained(add(x, whole), "-,data+model");
  char *text = text_of(y);
  CHECK(strstr(text, "mhlo.num_partitions = 8 : i32") && strstr(text, "mhlo.num_replicas = 1 : i32"));
  CHECK(strstr(text, "sdy.mesh @mesh = <[\"data\"=2, \"model\"=4]>"));
  CHECK(strstr(text, "tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}"));
  CHECK(strstr(text, "tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}"));
  CHECK(strstr(text, "#sdy.sharding<@mesh, [{}, {\"data\", \"model\"}]>"));
  lxla_string_free(text);
  // A step's text has donors and shardings. On one device there are none.
  OK(lxla_binary_scalar_inplace(ADD, counting(DIMS(4, 2), "model,data"), 1));
  OK(lxla_step_stablehlo(env, device, &text));
  CHECK(strstr(text, "tf.aliasing_output") && strstr(text, "[{\"model\"}, {\"data\"}]"));
  lxla_string_free(text);
  const lxla_tensor near = own(one(env, 1));
  text = text_of(plus(near, 1));
  CHECK(!strstr(text, "sdy.") && strstr(text, "mhlo.num_partitions = 1 : i32"));
  lxla_string_free(text);
  mesh_step();
}

MESH_TEST(m2_placeholders_have_shardings, "data=2,model=4") {
  lxla_tensor there, p;
  OK(lxla_tensor_placeholder(env, XLA(0), F32, DIMS(8, 4), &there));
  p = sharded(own(there), mesh, "data,model");
  EQUAL(state_of(p), LXLA_STATE_PLACEHOLDER);
  HAS_SHARDING(p, "data,model");
  const lxla_tensor q = hole_of(F32, DIMS(8, 4)), y = add(p, q);
  HAS_SHARDING(q, "-,-");
  char *text = text_of(y);
  CHECK(strstr(text, "tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {\"model\"}]>}"));
  CHECK(strstr(text, "tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"));
  lxla_string_free(text);
  float v[32];
  REFUSED(lxla_tensor_read(y, v, sizeof v), LXLA_FAILED_PRECONDITION, "placeholder f32[8,4] has no value");
  REFUSED(lxla_tensor_shard_read(p, 0, v, 16, NULL, NULL, 0), LXLA_FAILED_PRECONDITION, "placeholder f32[8,4]");
  // Nothing was sent, and what is compiled needs no values.
  EQUAL(counter(env, "OutboundBytes"), 0);
  lxla_memory_stats stats = {.struct_size = sizeof stats};
  const lxla_status status = lxla_compiled_memory(env, device, &y, 1, &stats);
  CHECK(status == LXLA_OK || status == LXLA_UNIMPLEMENTED);
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "LiveBytes"), 0);
  // A computation traced on the mesh is called with tensors of any sharding.
  const lxla_computation f = traces(TENSORS(p, q), &y, 1);
  lxla_tensor out;
  apply(f, TENSORS(counting(DIMS(8, 4), "model,-"), counting(DIMS(8, 4), "")), &out, 1);
  float want[32];
  for (int i = 0; i < 32; i++) want[i] = (float)i * 2;
  HAS_VALUES(out, want, 32);
}

MESH_TEST(m2_constraints_in_bodies_and_derivatives, "data=2,model=4") {
  // Three layers, whose activations are split by data and whose weights by model.
  const lxla_tensor h = HOLE(DIMS(4, 8)), w = HOLE(DIMS(8, 8)), x = HOLE(DIMS(4, 8)), ws = HOLE(DIMS(3, 8, 8));
  const lxla_tensor next = constrained(tanh_of(product(h, constrained(w, "-,model"))), "data,-");
  lxla_tensor end, loss, r[3], wanted[3];
  scan(traces(TENSORS(h, w), &next, 1), &x, 1, &ws, 1, 3, 0, &end, NULL, 0);
  loss = total(mul(end, end));
  const lxla_computation f = value_and_grad(traces(TENSORS(x, ws), &loss, 1));
  // The same without constraints, on xla:0.
  const lxla_device place = device;
  device = XLA(0);
  const lxla_tensor h0 = HOLE(DIMS(4, 8)), w0 = HOLE(DIMS(8, 8)), x0 = HOLE(DIMS(4, 8)), ws0 = HOLE(DIMS(3, 8, 8));
  const lxla_tensor next0 = tanh_of(product(h0, w0));
  scan(traces(TENSORS(h0, w0), &next0, 1), &x0, 1, &ws0, 1, 3, 0, &end, NULL, 0);
  loss = total(mul(end, end));
  const lxla_computation f0 = value_and_grad(traces(TENSORS(x0, ws0), &loss, 1));
  float values[3 * 64];
  for (int i = 0; i < 3 * 64; i++) values[i] = (float)(i * 37 % 101) / 128 - 0.3f;
  const lxla_tensor args0[] = {own(array(F32, DIMS(4, 8), values, 128)),
                               own(array(F32, DIMS(3, 8, 8), values, sizeof values))};
  apply(f0, args0, 2, wanted, 3);
  device = place;
  const lxla_tensor args[] = {split_of(F32, DIMS(4, 8), values, 128, "data,-"),
                              split_of(F32, DIMS(3, 8, 8), values, sizeof values, "-,-,model")};
  apply(f, args, 2, r, 3);
  for (int i = 0; i < 3; i++) SAME_NEAR(r[i], wanted[i]);
  // Batched: the batch is a new axis, which is not split.
  const lxla_tensor y = constrained(times(x, 2), "-,model");
  lxla_tensor batched;
  apply(vmap(traces(&x, 1, &y, 1), LIST(int64_t, 0), LIST(int64_t, 0), 3), (lxla_tensor[]){counting(DIMS(3, 4, 8), "")},
        1, &batched, 1);
  float want[96];
  for (int i = 0; i < 96; i++) want[i] = (float)i * 2;
  HAS_VALUES(batched, want, 96);
}

MESH_TEST(m2_a_picture_shows_who_holds_what, "data=2,model=4") {
  const char *const texts[] = {"data,model", "-,model", "-,-"};
  char *pictures[3];
  for (int i = 0; i < 3; i++) {
    OK(lxla_tensor_sharding_picture(counting(DIMS(8, 8), texts[i]), &pictures[i]));
    CHECK(strchr(pictures[i], '\n'));
    for (char digit = '0'; digit < '8'; digit++) CHECK(strchr(pictures[i], digit));
    for (int k = 0; k < i; k++) CHECK(strcmp(pictures[i], pictures[k]) != 0);
  }
  for (int i = 0; i < 3; i++) lxla_string_free(pictures[i]);
  char *text = NULL;
  const lxla_tensor scalar_tensor = own(at(F32, 1)), cube = counting(DIMS(2, 2, 4), "data,-,model");
  OK(lxla_tensor_sharding_picture(scalar_tensor, &text));
  CHECK(strchr(text, '7'));
  lxla_string_free(text);
  OK(lxla_tensor_sharding_picture(cube, &text));
  CHECK(*text);
  lxla_string_free(text);
}

// The key of a program has the shardings of its parameters and its constraints.
MESH_TEST(m2_shardings_are_in_the_key, "data=2,model=4") {
  const char *const texts[] = {"data,-", "data,model", "-,-"};
  const lxla_mesh others[] = {new_mesh("data=4,model=2", NULL), new_mesh("x=2,y=4", NULL),
                              new_mesh("data=2,model=4", (int32_t[]){7, 6, 5, 4, 3, 2, 1, 0})};
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < 3; i++) {
      const uint64_t compiled = counter(env, "UncachedCompile"), found = counter(env, "CachedCompile");
      const lxla_tensor x = counting(DIMS(8, 8), texts[i]), y = plus(times(x, 2), 1);
      OK(lxla_sync(&y, 1));
      EQUAL(counter(env, "UncachedCompile") - compiled, turn == 0);
      EQUAL(counter(env, "CachedCompile") - found, turn > 0);
    }
    for (int i = 0; i < 3; i++) {
      const uint64_t compiled = counter(env, "UncachedCompile");
      const lxla_tensor x = counting(DIMS(8, 8), "data,-"), y = constrained(times(x, 2), texts[i]);
      OK(lxla_sync(&y, 1));
      EQUAL(counter(env, "UncachedCompile") - compiled, turn == 0);
    }
    // Axes of other names or sizes, and other devices.
    const lxla_mesh own_mesh = mesh;
    for (int i = 0; i < 3; i++) {
      const uint64_t compiled = counter(env, "UncachedCompile");
      mesh = others[i];
      const lxla_tensor x = counting(DIMS(8, 8), i == 1 ? "x,-" : "data,-"), y = plus(times(x, 2), 1);
      OK(lxla_sync(&y, 1));
      EQUAL(counter(env, "UncachedCompile") - compiled, turn == 0);
    }
    mesh = own_mesh;
  }
  // Hashes of graphs differ as keys do.
  unsigned char hashes[3][32];
  for (int i = 0; i < 3; i++) {
    const lxla_tensor y = plus(counting(DIMS(8, 8), texts[i]), 1);
    OK(lxla_graph_hash(env, device, &y, 1, hashes[i]));
    for (int k = 0; k < i; k++) CHECK(memcmp(hashes[i], hashes[k], 32) != 0);
  }
  for (int i = 0; i < 3; i++) OK(lxla_mesh_release(others[i]));
}

// Some plugins split these results by a part of a mesh axis, which no sharding says. Such a program is compiled again
// with results that are not split, and is on disk in that form: another environment loads it.
static void reshaped(int turn) {
  static char first[64];
  char *text;
  lxla_tensor y, z;
  const lxla_tensor x = counting(DIMS(8), "x"), w = counting(DIMS(4, 4), "x,-");
  OK(lxla_reshape(x, DIMS(2, 4), &y));
  HAS_VALUES(own(y), numbers(), 8);
  OK(lxla_tensor_sharding(y, &text));
  if (turn == 0) snprintf(first, sizeof first, "%s", text);
  HAS_SHARDING(y, first);
  lxla_string_free(text);
  // A program with a donor.
  OK(lxla_reshape(w, DIMS(2, 8), &z));
  OK(lxla_binary_scalar_inplace(ADD, w, 1));
  EQUAL(mesh_step(), 1);
  OK(lxla_binary_scalar_inplace(SUB, w, 1));
  OK(lxla_binary_scalar_inplace(MUL, own(z), 1));
  mesh_step();
  HAS_VALUES(w, numbers(), 16);
  HAS_VALUES(z, numbers(), 16);
  HAS_SHARDING(w, "x,-");
}

TEST(k8_programs_on_a_mesh_are_compiled_by_one_process_only) {
  uint64_t misses = 0;
  clear("");
  for (int turn = 0; turn < 2; turn++) {
    lxla_env_options options = eight_devices();
    options.cache_dir = FOLDER;
    start_with(&options, "x=4");
    reshaped(turn);
    if (turn == 0) misses = counter(env, "PersistentCacheMiss");
    CHECK(misses >= 3);
    EQUAL(counter(env, "PersistentCacheHit"), turn == 0 ? 0 : misses);
    if (turn == 1) EQUAL(counter(env, "UncachedCompile"), 0);
    finish();
  }
  remove_folder();
}

// --- M10: what is refused ---

static lxla_status creates(const char *const *names, const int64_t *sizes, size_t rank, const int32_t *ordinals) {
  lxla_mesh made = {77};
  const lxla_status status = lxla_mesh_create(env, names, sizes, rank, ordinals, &made);
  if (status != LXLA_OK) EQUAL(made.id, 77);
  else OK(lxla_mesh_release(made));
  return status;
}

MESH_TEST(m10_meshes_that_cannot_be_are_refused, "data=2,model=4") {
#define NAMES(...) (const char *[]){__VA_ARGS__}
#define SIZES(...) (int64_t[]){__VA_ARGS__}
#define ORDINALS(...) (int32_t[]){__VA_ARGS__}
  OK(creates(NAMES("a", "b_2"), SIZES(1, 2), 2, ORDINALS(3, 5)));
  REFUSED(creates(NAMES("a", "a"), SIZES(2, 2), 2, NULL), BAD, "axis_names[1]");
  REFUSED(creates(NAMES("a", ""), SIZES(2, 2), 2, NULL), BAD, "axis_names[1]");
  REFUSED(creates(NAMES("2a"), SIZES(2), 1, NULL), BAD, "axis_names[0]");
  REFUSED(creates(NAMES("a-b"), SIZES(2), 1, NULL), BAD, "axis_names[0]");
  REFUSED(creates(NAMES("a", NULL), SIZES(2, 2), 2, NULL), LXLA_NULL_ARGUMENT, "axis_names[1]");
  REFUSED(creates(NAMES("a", "b"), SIZES(2, 0), 2, NULL), BAD, "axis_sizes[1]");
  REFUSED(creates(NAMES("a", "b"), SIZES(-1, 2), 2, NULL), BAD, "axis_sizes[0]");
  REFUSED(creates(NAMES("a", "b"), SIZES(1LL << 32, 1LL << 32), 2, NULL), BAD, "axis_sizes");
  REFUSED(creates(NAMES("a", "b"), SIZES(3, 3), 2, NULL), BAD, "a=3,b=3 needs 9 devices");
  REFUSED(creates(NAMES("a", "b"), SIZES(2, 2), 2, ORDINALS(0, 1, 2, 8)), BAD, "ordinals");
  REFUSED(creates(NAMES("a", "b"), SIZES(2, 2), 2, ORDINALS(0, -1, 2, 3)), BAD, "ordinals");
  REFUSED(creates(NAMES("a", "b"), SIZES(2, 2), 2, ORDINALS(0, 1, 1, 3)), BAD, "ordinals");
  REFUSED(creates(NULL, NULL, 0, NULL), BAD, "rank: 0 mesh axes given");
  REFUSED(creates(NULL, SIZES(2), 1, NULL), LXLA_NULL_ARGUMENT, "axis_names");
  REFUSED(creates(NAMES("a"), NULL, 1, NULL), LXLA_NULL_ARGUMENT, "axis_sizes");
  REFUSED(lxla_mesh_create(env, NAMES("a"), SIZES(1), 1, NULL, NULL), LXLA_NULL_ARGUMENT, "out_mesh");
  lxla_device place;
  lxla_tensor t = {77};
  REFUSED(lxla_device_parse("mesh", &place), BAD, "mesh");
  REFUSED(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_MESH, 9}, F32, NULL, 0, 1, &t), BAD, "mesh:9");
  REFUSED(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_MESH, -1}, F32, NULL, 0, 1, &t), BAD, "mesh:-1");
  REFUSED(lxla_tensor_full(env, (lxla_device){4, 0}, F32, NULL, 0, 1, &t), BAD, "kind 4");
  EQUAL(t.id, 77);
}

// Checks that a text is refused by each function that takes a sharding, with words of the message, and changes nothing.
static void no_sharding(lxla_tensor x, const char *text, lxla_status status, const char *words) {
  int64_t dims[MOST_RANK];
  size_t rank;
  OK(lxla_tensor_info(x, NULL, &rank, dims, MOST_RANK));
  const double tensors_before = live(), bytes = (double)counter(env, "LiveBytes");
  lxla_tensor native, out = {77};
  REFUSED(lxla_sharding_constraint(x, text, &out), status, words);
  REFUSED(lxla_tensor_shard(x, mesh, text, &out), status, words);
  OK(lxla_tensor_full(env, on_cpu, F32, dims, rank, 1, &native));
  REFUSED(lxla_tensor_shard(native, mesh, text, &out), status, words);
  RELEASE(native);
  const size_t size = elements(dims, rank) * sizeof(float);
  REFUSED(lxla_tensor_from_host_sharded(mesh, F32, dims, rank, numbers(), size, text, &out), status, words);
  EQUAL(out.id, 77);
  EQUAL(live(), tensors_before);
  EQUAL(counter(env, "LiveBytes"), bytes);
}

MESH_TEST(m10_shardings_that_do_not_parse_or_fit_are_refused, "data=2,model=4") {
  const lxla_tensor x = counting(DIMS(8, 6), "data,-");
  // Each message names the argument; where the text goes wrong is counted in bytes from 0.
  const struct {
    const char *text, *where;
  } cases[] = {{"data", "2"},       {"data,-,-", "2"},  {"batch,-", "batch"}, {"data,Model", "Model"},
               {"data,Model", "5"}, {"data,data", "5"}, {"data+data,-", "5"}, {"data,", "5"},
               {",-", "0"},         {"data+,-", "5"},   {"+data,-", "0"},     {"data -", ""},
               {"data,- ", ""},     {"data;-", ""},     {"-+data,-", ""},     {"data,-\n", ""},
               {"-,\xC3\xA9", "2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    no_sharding(x, cases[i].text, BAD, "sharding");
    if (!strstr(lxla_last_error_message(), cases[i].where))
      FAIL("\"%s\": %s; want %s in it", cases[i].text, lxla_last_error_message(), cases[i].where);
  }
  no_sharding(x, NULL, LXLA_NULL_ARGUMENT, "sharding");
  // Sizes that do not divide: the axis, its size, the number of pieces.
  no_sharding(x, "-,model", BAD, "6");
  no_sharding(x, "-,data+model", BAD, "8");
  const lxla_tensor y = plus(x, 1);
  no_sharding(y, "-,model", BAD, "model");
  EQUAL(state_of(y), LXLA_STATE_PENDING);
}

MESH_TEST(m10_tensors_of_two_meshes_do_not_mix, "data=2,model=4") {
  const lxla_mesh own_mesh = mesh, other = new_mesh("data=2,model=4", NULL);
  const lxla_tensor a = counting(DIMS(8), "data");
  mesh = other;
  const lxla_tensor b = counting(DIMS(8), "data");
  mesh = own_mesh;
  lxla_tensor out = {77};
  REFUSED(lxla_binary(ADD, a, b, &out), BAD, "lhs is on mesh:0 and rhs is on mesh:1");
  REFUSED(lxla_binary_inplace(ADD, b, a), BAD, "mesh:1");
  REFUSED(lxla_tensor_assign(a, b), BAD, "mesh:");
  REFUSED(lxla_concatenate(TENSORS(a, b), 0, &out), BAD, "mesh:");
  EQUAL(out.id, 77);
  HAS_VALUES(a, numbers(), 8);
  HAS_VALUES(b, numbers(), 8);
  OK(lxla_mesh_release(other));
}

MESH_TEST(m10_tensors_elsewhere_have_no_shardings, "data=2,model=4") {
  lxla_tensor native, out = {77};
  char *text = NULL;
  float v[4];
  OK(lxla_tensor_full(env, on_cpu, F32, DIMS(8), 1, &native));
  const lxla_tensor list[] = {own(native), own(from_f32(env, DIMS(8), numbers()))};
  for (int i = 0; i < 2; i++) {
    REFUSED(lxla_tensor_sharding(list[i], &text), BAD, i ? "x: it is on xla:0" : "x: it is on cpu");
    REFUSED(lxla_tensor_sharding_picture(list[i], &text), BAD, "want a mesh");
    REFUSED(lxla_tensor_shard_read(list[i], 0, v, sizeof v, NULL, NULL, 0), BAD, "want a mesh");
    REFUSED(lxla_sharding_constraint(list[i], "data", &out), BAD, i ? "xla:0" : "cpu");
  }
  REFUSED(lxla_tensor_sharding(none, &text), LXLA_INVALID_HANDLE, "x");
  REFUSED(lxla_tensor_sharding(list[0], NULL), LXLA_NULL_ARGUMENT, "out_text");
  REFUSED(lxla_tensor_shard(none, mesh, "data", &out), LXLA_INVALID_HANDLE, "x");
  REFUSED(lxla_tensor_shard(list[0], (lxla_mesh){0}, "data", &out), LXLA_INVALID_HANDLE, "mesh");
  REFUSED(lxla_tensor_shard(list[0], mesh, "data", NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  REFUSED(lxla_tensor_from_host_sharded(mesh, F32, DIMS(8), numbers(), 28, "data", &out), BAD, "size_bytes: 28 given");
  REFUSED(lxla_tensor_from_host_sharded(mesh, F32, DIMS(8), NULL, 32, "data", &out), LXLA_NULL_ARGUMENT, "data");
  REFUSED(lxla_tensor_from_host_sharded(mesh, 99, DIMS(8), numbers(), 32, "data", &out), BAD, "99");
  REFUSED(lxla_tensor_from_host_sharded(mesh, PRED, DIMS(8), "\1\0\1\2\0\0\0\0", 8, "data", &out), BAD, "element 3");
  // A tensor of another environment.
  const lxla_env first = env;
  env = new_env();
  const lxla_tensor stranger = from_f32(env, DIMS(8), numbers());
  REFUSED(lxla_tensor_shard(stranger, mesh, "data", &out), BAD, "mesh: it belongs to another environment");
  RELEASE(stranger);
  OK(lxla_env_release(env));
  env = first;
  CHECK(!text && out.id == 77);
}
