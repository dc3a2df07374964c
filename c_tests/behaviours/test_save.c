// Saving and loading: S1, S3 to S8 of docs/behaviours.md, and D5 for saves. Results are compared by value, with pending
// tensors among them.
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static lxla_env env;
static const char *const FILE_NAME = "test_save.safetensors";

static lxla_tensor load(const char *name) {
  lxla_tensor t;
  OK(lxla_load(env, XLA(0), FILE_NAME, name, &t));
  return t;
}

static void file_has(const char *name, float want) {
  lxla_tensor t = load(name);
  EQUAL(value(t), want);
  RELEASE(t);
}

static void save1(const char *name, lxla_tensor t) { OK(lxla_save(FILE_NAME, &name, &t, 1)); }

// Returns the number of this test's files in the folder, temporary ones included.
static int files(void) {
  int n = 0;
  DIR *folder = opendir(".");
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) n += strstr(entry->d_name, "test_save.safetensors") != NULL;
  closedir(folder);
  return n;
}

static void start(void) {
  env = new_env();
  remove(FILE_NAME);
}

static void finish(void) {
  no_live_bytes(env);
  OK(lxla_env_release(env));
  CHECK(files() <= 1);
  remove(FILE_NAME);
}

TEST(s1_saving_an_updated_tensor_leaves_its_old_value) {
  start();
  lxla_tensor t0 = one(env, 1), t1 = one(env, 2);
  step(env);
  lxla_tensor t2 = binary(ADD, t0, t1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  save1("t1", t1);
  step(env);
  file_has("t1", 3);
  EQUAL(value(t2), 3);
  EQUAL(value(t1), 3);
  RELEASE(t0, t1, t2);
  finish();
}

TEST(s3_a_save_never_donates_and_the_step_after_it_does) {
  start();
  OK(lxla_env_set_option(env, "donation", "true"));
  enum { N = 8 };
  lxla_tensor t[N];
  char names[N][8];
  const char *list[N];
  for (int i = 0; i < N; i++) {
    t[i] = one(env, (float)i);
    snprintf(names[i], sizeof names[i], "t%d", i);
    list[i] = names[i];
  }
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < N; i += 2) OK(lxla_binary_scalar_inplace(ADD, t[i], 10));  // half are pending
    uint64_t donated = counter(env, "DonatedBuffers");
    OK(lxla_save(FILE_NAME, list, t, N));
    EQUAL(counter(env, "DonatedBuffers"), donated);
    for (int i = 0; i < N; i++) file_has(names[i], (float)(i + (i % 2 ? 0 : 10 * (turn + 1))));
    for (int i = 0; i < N; i += 2) OK(lxla_binary_scalar_inplace(ADD, t[i], 0));
    EQUAL(step(env), N / 2);
  }
  OK(lxla_tensor_release_many(t, N));
  finish();
}

TEST(s4_the_file_holds_the_values_of_the_call) {
  start();
  enum { N = 1 << 20 };
  lxla_tensor big;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(N), 1, &big));
  const char *name = "big";
  for (int turn = 1; turn <= 5; turn++) {
    lxla_save_ticket ticket;
    OK(lxla_save_async(FILE_NAME, &name, &big, 1, &ticket));
    // Overwrites the tensors twice right after the call, with a step each time.
    for (int i = 0; i < 2; i++) {
      OK(lxla_binary_scalar_inplace(ADD, big, 0.5));
      OK(lxla_mark_step(env, XLA(0), 0));
    }
    OK(lxla_save_wait(ticket));
    int32_t done = 0;
    uint64_t written, total;
    OK(lxla_save_done(ticket, &done));
    OK(lxla_save_progress(ticket, &written, &total));
    EQUAL(done, 1);
    EQUAL(written, total);
    EQUAL(total, N * sizeof(float));
    OK(lxla_save_ticket_release(ticket));
    lxla_tensor t = load(name);
    static float values[N];
    read_f32(t, values, N);
    EQUAL(values[0], turn);
    EQUAL(values[N - 1], turn);
    RELEASE(t);
  }
  OK(lxla_env_release(env));
}

TEST(s4_handles_may_be_dropped_while_a_save_is_under_way) {
  start();
  lxla_tensor t = one(env, 6), u = scalar(ADD, t, 1);
  const char *names[] = {"t", "u"};
  lxla_tensor list[] = {t, u};
  lxla_save_ticket ticket;
  OK(lxla_save_async(FILE_NAME, names, list, 2, &ticket));
  RELEASE(t, u);
  OK(lxla_save_wait(ticket));
  OK(lxla_save_ticket_release(ticket));
  REFUSED(lxla_save_wait(ticket), LXLA_INVALID_HANDLE, "ticket");
  OK(lxla_save_ticket_release((lxla_save_ticket){0}));
  file_has("t", 6);
  file_has("u", 7);
  finish();
}

// K10 and D5: steps between saves, with inputs released at random moments, give right values and compile few programs.
TEST(k10_steps_with_saves_and_random_releases) {
  start();
  enum { STEPS = 100, INPUTS = 6 };
  lxla_tensor t = one(env, 0), kept[INPUTS] = {{0}};
  float expected = 0;
  unsigned state = 12345;
  const char *name = "t";
  lxla_save_ticket ticket = {0};
  for (int i = 0; i < STEPS; i++) {
    for (int k = 0; k < INPUTS; k++) {
      state = state * 1664525u + 1013904223u;
      lxla_tensor input = one(env, (float)k);
      OK(lxla_binary_inplace(ADD, t, input));
      expected += (float)k;
      RELEASE(kept[k]);
      kept[k] = none;
      if (state >> 31) {
        RELEASE(input);
      } else {
        kept[k] = input;  // kept until the step
      }
    }
    if (i % 3 == 0) {
      if (ticket.id) {
        OK(lxla_save_wait(ticket));
        OK(lxla_save_ticket_release(ticket));
        lxla_tensor saved = load(name);
        CHECK(value(saved) <= expected);
        RELEASE(saved);
      }
      OK(lxla_save_async(FILE_NAME, &name, &t, 1, &ticket));
    }
    OK(lxla_mark_step(env, XLA(0), 0));
    for (int k = 0; k < INPUTS; k++)
      if (kept[k].id) EQUAL(value(kept[k]), k);
    EQUAL(value(t), expected);
  }
  OK(lxla_save_wait(ticket));
  OK(lxla_save_ticket_release(ticket));
  CHECK(counter(env, "UncachedCompile") <= 8);
  for (int k = 0; k < INPUTS; k++) RELEASE(kept[k]);
  RELEASE(t);
  finish();
}

TEST(s5_a_path_that_cannot_be_written) {
  start();
  lxla_tensor t = one(env, 4), pending = scalar(ADD, t, 1);
  const char *names[] = {"t", "pending"};
  lxla_tensor list[] = {t, pending};
  REFUSED(lxla_save("no/such/folder/file", names, list, 2), LXLA_NOT_FOUND, "no/such/folder/file");
  save1("t", t);
  CHECK(mkdir("test_save.folder", 0755) == 0 || 1);
  CHECK(lxla_save("test_save.folder", names, list, 2) != LXLA_OK);
  CHECK(strstr(lxla_last_error_message(), "test_save.folder"));
  rmdir("test_save.folder");
  lxla_save_ticket ticket;
  OK(lxla_save_async("no/such/folder/file", names, list, 2, &ticket));
  REFUSED(lxla_save_wait(ticket), LXLA_NOT_FOUND, "no/such/folder/file");
  REFUSED(lxla_save_wait(ticket), LXLA_NOT_FOUND, "no/such/folder/file");
  OK(lxla_save_ticket_release(ticket));
  // /dev/full acts as a full disk. The old file stays intact, and the tensors stay usable.
  if (access("/dev/full", W_OK) == 0) {
    CHECK(lxla_save("/dev/full/x", names, list, 2) != LXLA_OK);
  }
  file_has("t", 4);
  EQUAL(value(pending), 5);
  CHECK(files() == 1);
  RELEASE(t, pending);
  finish();
}

TEST(s6_every_dtype_comes_back_bit_for_bit) {
  start();
  const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8};
  enum { N = 14 };
  lxla_tensor t[N];
  unsigned char data[N][24];
  char names[N][8];
  const char *list[N];
  for (int i = 0; i < N; i++) {
    int dtype = i + 1;
    for (int k = 0; k < 24; k++) data[i][k] = dtype == LXLA_DTYPE_PRED ? k & 1 : (unsigned char)(k * 53 + 0x7F);
    if (dtype == LXLA_DTYPE_F32) memcpy(data[i], (uint32_t[]){0x7FC12345, 0x80000000, 0xFF800001}, 12);
    OK(lxla_tensor_from_host(env, XLA(0), dtype, DIMS(3, 1), data[i], 3 * sizes[dtype], &t[i]));
    snprintf(names[i], sizeof names[i], "d%d", dtype);
    list[i] = names[i];
  }
  OK(lxla_save(FILE_NAME, list, t, N));
  for (int i = 0; i < N; i++) {
    lxla_tensor got = load(names[i]);
    unsigned char back[24];
    int32_t dtype;
    int64_t dims[2];
    OK(lxla_tensor_dtype(got, &dtype));
    OK(lxla_tensor_dims(got, dims, 2));
    CHECK(dtype == i + 1 && dims[0] == 3 && dims[1] == 1);
    OK(lxla_tensor_read(got, back, 3 * sizes[i + 1]));
    CHECK(memcmp(back, data[i], 3 * sizes[i + 1]) == 0);
    RELEASE(got);
  }
  char *json;
  OK(lxla_file_names(FILE_NAME, &json));
  CHECK(strstr(json, "\"d11\":{\"dims\":[3,1],\"dtype\":\"f32\"}"));
  lxla_string_free(json);
  OK(lxla_tensor_release_many(t, N));

  lxla_tensor wide, empty, got;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_C128, NULL, 0, 1, &wide));
  const char *name = "wide";
  REFUSED(lxla_save(FILE_NAME, &name, &wide, 1), LXLA_INVALID_ARGUMENT, "\"wide\" is c128[]");
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(0, 2), NULL, 0, &empty));
  save1("empty", empty);
  got = load("empty");
  OK(lxla_tensor_read(got, NULL, 0));
  RELEASE(wide, empty, got);
  finish();
}

TEST(s7_a_placeholder_is_refused_and_nothing_happens) {
  start();
  lxla_tensor p, t = one(env, 1), pending = scalar(ADD, t, 1), q;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(7), &p));
  q = scalar(ADD, p, 1);
  const char *names[] = {"pending", "weights"};
  lxla_tensor lists[2][2] = {{pending, p}, {pending, q}};
  lxla_save_ticket ticket = {3};
  for (int i = 0; i < 2; i++) {
    REFUSED(lxla_save(FILE_NAME, names, lists[i], 2), LXLA_FAILED_PRECONDITION, "placeholder f32[7] has no value");
    REFUSED(lxla_save_async(FILE_NAME, names, lists[i], 2, &ticket), LXLA_FAILED_PRECONDITION, "tensors[1]");
  }
  EQUAL(ticket.id, 3);
  EQUAL(state_of(pending), LXLA_STATE_PENDING);
  EQUAL(counter(env, "ExecuteComputation"), 0);
  EQUAL(files(), 0);
  RELEASE(p, t, pending, q);
  finish();
}

TEST(s8_one_value_under_two_names) {
  start();
  lxla_tensor t = one(env, 1), u;
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  u = snapshot(t);
  const char *names[] = {"a", "b", "c"};
  lxla_tensor list[] = {t, u, t};
  OK(lxla_save(FILE_NAME, names, list, 3));
  for (int i = 0; i < 3; i++) file_has(names[i], 2);
  EQUAL(counter(env, "ExecuteComputation"), 1);
  const char *same[] = {"a", "b", "a"};
  REFUSED(lxla_save(FILE_NAME, same, list, 3), LXLA_INVALID_ARGUMENT, "names: \"a\" is given twice");
  RELEASE(t, u);
  finish();
}

TEST(saves_of_several_devices_and_environments) {
  start();
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env other;
  OK(lxla_env_create(&options, &other));
  lxla_tensor t[3] = {one(env, 1)};
  for (int i = 0; i < 2; i++) OK(lxla_tensor_full(other, XLA(i), LXLA_DTYPE_F32, DIMS(1), i + 2, &t[i + 1]));
  const char *names[] = {"a", "b", "c"};
  OK(lxla_save(FILE_NAME, names, t, 3));
  for (int i = 0; i < 3; i++) file_has(names[i], (float)(i + 1));
  OK(lxla_tensor_release_many(t, 3));
  OK(lxla_env_release(other));
  finish();
}

TEST(files_that_are_none_are_told) {
  start();
  lxla_tensor t = none;
  char *json;
  REFUSED(lxla_load(env, XLA(0), "no_such_file", "a", &t), LXLA_NOT_FOUND, "no_such_file");
  REFUSED(lxla_file_names("no_such_file", &json), LXLA_NOT_FOUND, "no_such_file");
  FILE *file = fopen(FILE_NAME, "w");
  CHECK(file && fputs("this is not safetensors at all", file) >= 0 && fclose(file) == 0);
  REFUSED(lxla_load(env, XLA(0), FILE_NAME, "a", &t), LXLA_DATA_LOSS, "is not a safetensors file");
  REFUSED(lxla_file_names(FILE_NAME, &json), LXLA_DATA_LOSS, "is not a safetensors file");
  lxla_tensor u = one(env, 1);
  save1("u", u);
  REFUSED(lxla_load(env, XLA(0), FILE_NAME, "v", &t), LXLA_NOT_FOUND, "has no tensor \"v\"; it has u");
  REFUSED(lxla_load(env, XLA(0), NULL, "v", &t), LXLA_NULL_ARGUMENT, "path");
  REFUSED(lxla_save(FILE_NAME, NULL, &u, 1), LXLA_NULL_ARGUMENT, "names");
  REFUSED(lxla_save(FILE_NAME, (const char *[]){NULL}, &u, 1), LXLA_NULL_ARGUMENT, "names[0]");
  REFUSED(lxla_save(FILE_NAME, (const char *[]){"x"}, &none, 1), LXLA_INVALID_HANDLE, "tensors[0]");
  OK(lxla_save(FILE_NAME, NULL, NULL, 0));
  OK(lxla_file_names(FILE_NAME, &json));
  CHECK(strcmp(json, "{}") == 0);
  lxla_string_free(json);
  EQUAL(t.id, 0);
  RELEASE(u);
  finish();
}

// The file's permissions are those of any file that this user creates, not for the owner alone.
TEST(a_saved_file_has_the_permissions_of_a_new_file) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  const char *path = "test_save.permissions", *names[] = {"t"};
  struct stat saved;
  mode_t before = umask(027);
  OK(lxla_save(path, names, &t, 1));
  umask(before);
  CHECK(stat(path, &saved) == 0 && unlink(path) == 0);
  EQUAL(saved.st_mode & 0777, 0640);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static void metadata_is(const char *want) {
  char *json, all[200];
  OK(lxla_file_metadata(FILE_NAME, &json));
  snprintf(all, sizeof all, "{%s\"lazyxla_version\":\"%s\"}", want, lxla_version());
  CHECK(strcmp(json, all) == 0);
  lxla_string_free(json);
}

TEST(metadata_is_written_and_kept) {
  start();
  lxla_tensor t = one(env, 1);
  char key[8] = "epoch", text[8] = "3";
  const char *names[] = {"t"}, *keys[] = {key, "a"}, *values[] = {text, "x\"y"};
  lxla_save_options options = {.struct_size = sizeof options, .keep_metadata = 77};
  OK(lxla_save_options_init(&options));
  CHECK(options.metadata_keys == NULL && options.metadata_values == NULL && options.n_metadata == 0 &&
        options.keep_metadata == 0);
  options.metadata_keys = keys, options.metadata_values = values, options.n_metadata = 2;
  // Saves in the background have copies of the strings.
  lxla_save_ticket tickets[3];
  OK(lxla_save_async_with_options(FILE_NAME, names, &t, 1, &options, &tickets[0]));
  strcpy(key, "gone"), strcpy(text, "gone"), keys[1] = values[1] = NULL;
  OK(lxla_save_wait(tickets[0]));
  metadata_is("\"a\":\"x\\\"y\",\"epoch\":\"3\",");
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  OK(lxla_save_async(FILE_NAME, names, &t, 1, &tickets[1]));
  OK(lxla_save_wait(tickets[1]));
  file_has("t", 2);
  metadata_is("\"a\":\"x\\\"y\",\"epoch\":\"3\",");
  // Metadata to keep is read when the file is written, so this save keeps the metadata of the save before it.
  keys[1] = "b", values[1] = "";
  OK(lxla_save_async_with_options(FILE_NAME, names, &t, 1, &options, &tickets[2]));
  OK(lxla_save_with_options(FILE_NAME, names, &t, 1, NULL));
  metadata_is("\"b\":\"\",\"gone\":\"gone\",");
  OK(lxla_save_wait(tickets[2]));
  options = (lxla_save_options){.struct_size = sizeof options, .keep_metadata = LXLA_OFF};
  OK(lxla_save_with_options(FILE_NAME, names, &t, 1, &options));
  metadata_is("");
  for (int i = 0; i < 3; i++) OK(lxla_save_ticket_release(tickets[i]));
  RELEASE(t);
  finish();
}

TEST(options_of_saves_are_checked) {
  start();
  lxla_tensor t = one(env, 1);
  const char *names[] = {"t"}, *keys[] = {"k", "k"}, *values[] = {"1", "2"};
  lxla_save_ticket ticket = {77};
  lxla_save_options options = {
      .struct_size = sizeof options, .metadata_keys = keys, .metadata_values = values, .n_metadata = 2};
  REFUSED(lxla_save_async_with_options(FILE_NAME, names, &t, 1, &options, &ticket), LXLA_INVALID_ARGUMENT,
          "options.metadata_keys: \"k\" is given twice");
  EQUAL(ticket.id, 77);
  options.metadata_values = NULL;
  REFUSED(lxla_save_with_options(FILE_NAME, names, &t, 1, &options), LXLA_NULL_ARGUMENT,
          "options.metadata_values: it is NULL");
  options.n_metadata = SIZE_MAX;
  REFUSED(lxla_save_with_options(FILE_NAME, names, &t, 1, &options), LXLA_INVALID_ARGUMENT,
          "more than an address space holds");
  options.struct_size = 4;
  REFUSED(lxla_save_with_options(FILE_NAME, names, &t, 1, &options), LXLA_INVALID_ARGUMENT,
          "options: struct_size is 4");
  REFUSED(lxla_save_options_init(NULL), LXLA_NULL_ARGUMENT, "options");
  EQUAL(files(), 0);
  // Callers of an earlier version have a smaller struct: the fields that they lack have their defaults.
  options = (lxla_save_options){
      .struct_size = offsetof(lxla_save_options, n_metadata), .n_metadata = SIZE_MAX, .keep_metadata = 77};
  OK(lxla_save_with_options(FILE_NAME, names, &t, 1, &options));
  metadata_is("");
  REFUSED(lxla_file_metadata(FILE_NAME, NULL), LXLA_NULL_ARGUMENT, "out_json");
  char *json = NULL;
  REFUSED(lxla_file_metadata(NULL, &json), LXLA_NULL_ARGUMENT, "path");
  REFUSED(lxla_file_metadata("/", &json), LXLA_INVALID_ARGUMENT, "a directory");
  CHECK(json == NULL);
  RELEASE(t);
  finish();
}
