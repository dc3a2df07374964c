// Labels: where they are shown, and that they are in no key.
#include "computation.h"

// x * 2 + 1 under labels, tanh of it under others.
static lxla_tensor labelled(lxla_env env, const char *outer, const char *inner) {
  lxla_tensor x = one(env, 3);
  OK(lxla_label_push(outer));
  lxla_tensor double_x = scalar(MUL, x, 2);
  OK(lxla_label_push(inner));
  lxla_tensor sum = scalar(ADD, double_x, 1);
  OK(lxla_label_pop());
  OK(lxla_label_pop());
  lxla_tensor out;
  OK(lxla_unary(LXLA_UNARY_TANH, sum, &out));
  RELEASE(x, double_x, sum);
  return out;
}

static void free_all(lxla_env env, char *text) {
  lxla_string_free(text);
  OK(lxla_env_release(env));
}

TEST(labels_are_locations_of_the_text_and_in_no_key) {
  lxla_env env = new_env();
  lxla_tensor x = labelled(env, "model", "layer \"0\"");
  char *text = text_of(x);
  CHECK(strstr(text, "loc(\"model\")") && strstr(text, "loc(\"model/layer \\220\\22\")"));
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (strstr(line, "tanh")) CHECK(!strstr(line, "loc("));
  uint8_t first[32], second[32];
  OK(lxla_graph_hash(env, XLA(0), &x, 1, first));
  EQUAL(value(x), tanhf(7));
  uint64_t compiled = counter(env, "UncachedCompile");
  lxla_tensor y = labelled(env, "another model", "b");
  OK(lxla_graph_hash(env, XLA(0), &y, 1, second));
  CHECK(memcmp(first, second, 32) == 0);
  EQUAL(value(y), tanhf(7));
  EQUAL(counter(env, "UncachedCompile"), compiled);
  RELEASE(x, y);
  // Repeated steps: their schemes are known, and show the labels of now.
  for (int i = 0; i < 6; i++) {
    const char *name = i < 4 ? "early" : "late";
    lxla_tensor z = labelled(env, name, "c");
    char *now;
    OK(lxla_step_stablehlo(env, XLA(0), &now));
    CHECK(strstr(now, name));
    lxla_string_free(now);
    step(env);
    EQUAL(value(z), tanhf(7));
    RELEASE(z);
  }
  EQUAL(counter(env, "UncachedCompile"), compiled + 1);
  CHECK(counter(env, "RepeatedStep") >= 2);
  free_all(env, text);
}

TEST(steps_whose_labels_change_are_recognised_and_have_the_new_labels) {
  lxla_env env = new_env();
  for (int i = 0; i < 8; i++) {
    char name[16], wanted[64];
    snprintf(name, sizeof name, "step %d", i);
    lxla_tensor x = one(env, 3), loss, gradient, seed = one(env, 1);
    OK(lxla_label_push(name));
    OK(lxla_label_push("loss"));
    lxla_tensor square = binary(MUL, x, x);
    OK(lxla_label_pop());
    OK(lxla_unary(LXLA_UNARY_TANH, square, &loss));
    OK(lxla_label_pop());
    OK(lxla_gradients(&square, 1, &seed, &x, 1, &gradient));
    char *text = text_of(gradient);
    snprintf(wanted, sizeof wanted, "loc(\"step %d/loss/gradient\")", i);
    if (!strstr(text, wanted) || occurrences(text, "loc(\"step ") != occurrences(text, "\"step "))
      FAIL("want %s in %s", wanted, text);
    for (char *at = text; (at = strstr(at, "loc(\"step ")); at++) EQUAL(atoi(at + 10), i);
    lxla_string_free(text);
    step(env);
    EQUAL(value(gradient), 6);
    CHECK(fabsf(value(loss) - tanhf(9)) <= 1e-6f);
    RELEASE(x, loss, gradient, seed, square);
  }
  // The first two steps are planned, and their gradients recorded by rules.
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "RepeatedStep"), 6);
  EQUAL(counter(env, "RepeatedGradients"), 6);
  OK(lxla_env_release(env));
}

TEST(failures_name_the_label) {
  lxla_env env = new_env();
  lxla_tensor x = one(env, 1), y = from_f32(env, DIMS(3), (float[]){1, 2, 3}), z, out;
  OK(lxla_reshape(y, DIMS(3, 1), &z));
  OK(lxla_label_push("attention"));
  REFUSED(lxla_matmul(x, z, &out), LXLA_INVALID_ARGUMENT, "(label \"attention\")");
  OK(lxla_label_pop());
  lxla_status status = lxla_matmul(x, z, &out);
  EQUAL(status, LXLA_INVALID_ARGUMENT);
  CHECK(!strstr(lxla_last_error_message(), "attention"));
  // The error for an operation that the plugin cannot compile names its label.
  OK(lxla_label_push("kernels"));
  OK(lxla_custom_call("no_such_target", &x, 1, (int32_t[]){LXLA_DTYPE_F32}, (size_t[]){1}, (int64_t[]){1}, 1, NULL,
                      &out));
  OK(lxla_label_pop());
  lxla_status failed = lxla_mark_step(env, XLA(0), 1);
  CHECK(failed != LXLA_OK);
  if (!strstr(lxla_last_error_message(), "custom_call under label \"kernels\"")) FAIL("%s", lxla_last_error_message());
  RELEASE(x, y, z, out);
  OK(lxla_env_release(env));
}

TEST(computations_gradients_and_imports_keep_labels) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(1));
  OK(lxla_label_push("body"));
  lxla_tensor carried = scalar(MUL, p, 2);
  OK(lxla_label_pop());
  lxla_computation c = traced(TENSORS(p), TENSORS(carried));
  char *text;
  OK(lxla_computation_stablehlo(c, &text));
  CHECK(strstr(text, "stablehlo.multiply") && strstr(text, "loc(\"body\")"));
  // The text is a module, whose locations become labels again.
  lxla_computation again;
  OK(lxla_computation_import(env, text, strlen(text), NULL, &again));
  char *second;
  OK(lxla_computation_stablehlo(again, &second));
  CHECK(strstr(second, "loc(\"body\")"));
  lxla_tensor x = one(env, 3), results[1];
  OK(lxla_label_push("loop"));
  OK(lxla_scan(again, &x, 1, NULL, 0, 4, 0, results, NULL, 0));
  OK(lxla_label_pop());
  lxla_string_free(text);
  text = text_of(results[0]);
  CHECK(strstr(text, "loc(\"body\")") && strstr(text, "loc(\"loop\")"));
  lxla_computation reread;
  OK(lxla_computation_import(env, text, strlen(text), NULL, &reread));
  lxla_tensor loss, gradient;
  OK(lxla_label_push("loss"));
  OK(lxla_unary(LXLA_UNARY_TANH, results[0], &loss));
  OK(lxla_label_pop());
  OK(lxla_gradients(&loss, 1, &x, &x, 1, &gradient));
  char *backward = text_of(gradient);
  CHECK(strstr(backward, "loc(\"loss/gradient\")") && strstr(backward, "loc(\"loop/gradient\")"));
  EQUAL(value(results[0]), 48);
  lxla_string_free(second);
  lxla_string_free(backward);
  RELEASE(p, carried, x, results[0], loss, gradient);
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(again));
  OK(lxla_computation_release(reread));
  free_all(env, text);
}

// Checks that the live tensors of the environment are described by all of these words.
static void lives(lxla_env env, size_t n, const char *const *words) {
  char *text;
  OK(lxla_live_tensors_json(env, &text));
  for (size_t i = 0; i < n; i++)
    if (!strstr(text, words[i])) FAIL("want %s in %s", words[i], text);
  lxla_string_free(text);
}
#define LIVES(env, ...) \
  lives(env, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

TEST(live_tensors_are_listed_by_label_and_size) {
  lxla_env env = new_env();
  LIVES(env, "{\"buffers\":0,\"bytes\":0,\"labels\":[],\"largest\":[]}");
  float values[100] = {0};
  lxla_tensor x = from_f32(env, DIMS(100), values);
  OK(lxla_label_push("model"));
  lxla_tensor y = scalar(ADD, x, 1), small = one(env, 2), z = scalar(MUL, small, 2), w = scalar(MUL, small, 3);
  OK(lxla_label_pop());
  LIVES(env, "\"bytes\":404,", "\"buffers\":2,");
  OK(lxla_env_set_option(env, "timeline", "true"));
  step(env);
  // Another tensor with the same value takes no memory.
  lxla_tensor same;
  OK(lxla_tensor_snapshot(z, &same));
  LIVES(
      env, "\"bytes\":812,", "\"buffers\":5,",
      "{\"buffers\":3,\"bytes\":408,\"device\":\"xla:0\",\"label\":\"model\",\"peak_bytes\":408}",
      "{\"buffers\":2,\"bytes\":404,\"device\":\"xla:0\",\"label\":null,\"peak_bytes\":404}",
      "{\"bytes\":400,\"device\":\"xla:0\",\"label\":\"model\",\"made_by\":\"step 1 on xla:0\",\"type\":\"f32[100]\"}",
      "{\"bytes\":4,\"device\":\"xla:0\",\"label\":null,\"made_by\":null,\"type\":\"f32[1]\"}");
  RELEASE(y);
  lxla_tensor native;
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, LXLA_DTYPE_F64, DIMS(7), 1, &native));
  LIVES(env, "\"bytes\":468,",
        "{\"buffers\":2,\"bytes\":8,\"device\":\"xla:0\",\"label\":\"model\",\"peak_bytes\":408}",
        "{\"buffers\":1,\"bytes\":56,\"device\":\"cpu\",\"label\":null,\"peak_bytes\":null}");
  OK(lxla_env_metrics_reset(env));
  LIVES(env, "\"label\":\"model\",\"peak_bytes\":null}");
  RELEASE(x, small, z, w, same, native);
  LIVES(env, "{\"buffers\":0,\"bytes\":0,\"labels\":[],\"largest\":[]}");
  OK(lxla_env_release(env));
}

TEST(peaks_are_those_since_the_timeline_was_turned_on_last) {
  lxla_env env = new_env();
  float values[100] = {0};
  lxla_tensor x = from_f32(env, DIMS(100), values), tick = one(env, 1);
#define BIG(number) "{\"buffers\":0,\"bytes\":0,\"device\":\"xla:0\",\"label\":\"big\",\"peak_bytes\":" #number "}"
  OK(lxla_env_set_option(env, "timeline", "true"));
  OK(lxla_label_push("big"));
  lxla_tensor y = scalar(ADD, x, 1);
  OK(lxla_label_pop());
  step(env);
  RELEASE(y);
  LIVES(env, BIG(400));
  OK(lxla_env_set_option(env, "timeline", "false"));
  LIVES(env, BIG(400));
  // While it is off, nothing is noted.
  OK(lxla_label_push("later"));
  lxla_tensor z = scalar(ADD, x, 2);
  OK(lxla_label_pop());
  step(env);
  LIVES(env, BIG(400), "\"bytes\":400,\"device\":\"xla:0\",\"label\":\"later\",\"peak_bytes\":null}");
  // From here on, the peaks are those of the new time, also before its first step. A trace that begins meanwhile does
  // not begin another one.
  OK(lxla_env_set_option(env, "timeline", "true"));
  char *text;
  OK(lxla_live_tensors_json(env, &text));
  CHECK(!strstr(text, "big") && strstr(text, "\"label\":\"later\",\"peak_bytes\":null}"));
  lxla_string_free(text);
  OK(lxla_binary_scalar_inplace(ADD, tick, 1));
  step(env);
  OK(lxla_trace_start(env, "test_labels_trace.json"));
  LIVES(env, "\"label\":\"later\",\"peak_bytes\":400}");
  OK(lxla_trace_stop(env));
  CHECK(remove("test_labels_trace.json") == 0);
  LIVES(env, "\"label\":\"later\",\"peak_bytes\":400}");
  RELEASE(x, tick, z);
  OK(lxla_env_release(env));
}

TEST(peaks_of_labels_that_never_come_again_are_bounded) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "timeline", "true"));
  OK(lxla_label_push("kept"));
  lxla_tensor x = one(env, 1), kept = scalar(ADD, x, 1);
  OK(lxla_label_pop());
  for (int i = 0; i < 1100; i++) {
    char name[32];
    snprintf(name, sizeof name, "step %d", i);
    OK(lxla_label_push(name));
    lxla_tensor y = scalar(MUL, x, 2);
    OK(lxla_label_pop());
    step(env);
    RELEASE(y);
  }
  char *text;
  OK(lxla_live_tensors_json(env, &text));
  const int noted = occurrences(text, "\"peak_bytes\":4}");
  CHECK(noted > 2 && noted <= 1001 && strstr(text, "\"label\":\"kept\",\"peak_bytes\":4}"));
  CHECK(strstr(text, "\"step 1099\"") && !strstr(text, "\"step 0\""));
  lxla_string_free(text);
  RELEASE(x, kept);
  OK(lxla_env_release(env));
}

TEST(wrong_names_are_refused_and_pops_need_pushes) {
  REFUSED(lxla_label_pop(), LXLA_FAILED_PRECONDITION, "no label");
  REFUSED(lxla_label_push(NULL), LXLA_NULL_ARGUMENT, "name");
  REFUSED(lxla_label_push(""), LXLA_INVALID_ARGUMENT, "name: 0 bytes");
  REFUSED(lxla_label_push("\xff"), LXLA_INVALID_ARGUMENT, "UTF-8");
  char *long_name = malloc((1 << 20) + 1);
  memset(long_name, 'x', 1 << 20);
  long_name[1 << 20] = 0;
  REFUSED(lxla_label_push(long_name), LXLA_INVALID_ARGUMENT, "name: 1048576 bytes given; want 1 to 1024");
  free(long_name);
  for (int i = 0; i < 256; i++) OK(lxla_label_push("deep"));
  REFUSED(lxla_label_push("deep"), LXLA_RESOURCE_EXHAUSTED, "256");
  for (int i = 0; i < 256; i++) OK(lxla_label_pop());
  REFUSED(lxla_label_pop(), LXLA_FAILED_PRECONDITION, "no label");
}

TEST(the_graph_shows_what_a_sync_runs_by_label) {
  lxla_env env = new_env();
  lxla_tensor x = labelled(env, "model", "layer \"0\"\n");
  char *text;
  OK(lxla_graph_dot(&x, 1, &text));
  const char *wanted =
      "digraph lazyxla {\n  node [shape=box];\n"
      "  r0_v0 [label=\"parameter 0\\nf32[1]\" shape=ellipse];\n"
      "  r0_v3 [label=\"tanh\\nf32[1]\" peripheries=2];\n"
      "  subgraph cluster_1 {\n  label=\"model\";\n"
      "  r0_v1 [label=\"multiply 2.0\\nf32[1]\" ];\n"
      "  subgraph cluster_2 {\n  label=\"layer \\\"0\\\"\\n\";\n"
      "  r0_v2 [label=\"add 1.0\\nf32[1]\" ];\n  }\n  }\n"
      "  r0_v0 -> r0_v1;\n  r0_v1 -> r0_v2;\n  r0_v2 -> r0_v3;\n}\n";
  if (strcmp(text, wanted) != 0) FAIL("%s", text);
  EQUAL(state_of(x), LXLA_STATE_PENDING);
  REFUSED(lxla_graph_dot(NULL, 0, &text), LXLA_INVALID_ARGUMENT, "n: 0");
  REFUSED(lxla_graph_dot(&none, 1, &text), LXLA_INVALID_HANDLE, "tensors");
  // Several programs: an output of one is an operand of the next, not a parameter.
  lxla_string_free(text);
  OK(lxla_env_set_option(env, "max_program_ops", "1"));
  OK(lxla_graph_dot(&x, 1, &text));
  CHECK(strstr(text, "r0_v1 -> r1_v1;") && strstr(text, "r1_v1 -> r2_v1;") && occurrences(text, "ellipse") == 1);
  // A number stands where it is written: 1 / x.
  lxla_string_free(text);
  const lxla_scalar number = {.dtype = LXLA_DTYPE_F64, .value.f = 1};
  lxla_tensor inverse;
  OK(lxla_binary_with_scalar(LXLA_BINARY_DIVIDE, x, &number, 1, &inverse));
  OK(lxla_graph_dot(&inverse, 1, &text));
  CHECK(strstr(text, "[label=\"1.0 divide\\nf32[1]\""));
  RELEASE(inverse);
  RELEASE(x);
  free_all(env, text);
}
