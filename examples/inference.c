// The program of docs/inference.md: serves a small decoder by steps, by executables that threads share, and in batches,
// with caches of keys and values that are updated in place, and with weights of 4 bits.
#include "inference_model.h"

#include <pthread.h>
#include <unistd.h>

enum { TOKENS = 24, REQUESTS = 2 };

// [recipe]
// The arguments of the first call: the prompt, padded to one of few sizes, and empty caches. Returns that size.
static int64_t start(const int32_t *prompt, int count, lxla_tensor *state) {
  int32_t padded[LENGTH] = {0};
  int64_t bucket = 8;
  while (bucket < count) bucket *= 2;
  CHECK(count > 0 && bucket <= LENGTH);
  memcpy(padded, prompt, (size_t)count * sizeof *prompt);
  state[TOKEN] = lx_array(padded, bucket), state[POSITION] = integer(0), state[COUNT] = integer(count);
  for (int i = CACHES; i < STATE; i++) state[i] = lx_zeros(HEADS, LENGTH, WIDTH / HEADS);
  return bucket;
}

// Decodes by steps: each writes over the caches, since it sees that nothing reads the old ones again.
static void generate(const decoder *d, const int32_t *prompt, int count, int32_t *tokens) {
  lx_scope();
  lxla_tensor first[STATE], state[STATE];
  step(d, start(prompt, count, first), first, state);
  for (int i = 0; i < TOKENS; i++) {
    lx_scope();
    lx_step();  // starts what is recorded
    lxla_tensor next[STATE], token = LX_MAKE(lxla_tensor_snapshot, state[TOKEN]);
    step(d, 1, state, next);
    for (int k = 0; k < STATE; k++) lx_set(state[k], next[k]);
    lx_read(token, tokens + i, 1);
  }
}
// [recipe end]

// The step of `n` tokens as a function that captures the weights.
static lxla_computation traced(const decoder *d, int64_t n) {
  lx_scope();
  lxla_tensor in[STATE], out[STATE];
  lxla_computation f;
  for (int i = 0; i < STATE; i++) {
    const int64_t cache[] = {HEADS, LENGTH, WIDTH / HEADS}, *dims = i == TOKEN ? &n : cache;
    const size_t rank = i == TOKEN ? 1 : i < CACHES ? 0 : 3;
    in[i] = LX_MAKE(lxla_tensor_placeholder, env, device, i < CACHES ? LXLA_DTYPE_S32 : LXLA_DTYPE_F32, dims, rank);
  }
  // [recipe]
  TRY(lxla_tracing_begin(env, device));  // until the end, everything belongs to the function
  step(d, n, in, out);                   // of placeholders
  TRY(lxla_tracing_end(in, STATE, out, STATE, &f));
  // [recipe end]
  return f;
}

// Compiles a step whose runs write over the caches that they are given. Releases the computation.
static lxla_executable compiled(lxla_computation f) {
  size_t caches[2 * LAYERS];
  for (size_t i = 0; i < 2 * LAYERS; i++) caches[i] = CACHES + i;
  lxla_executable_options options = {.struct_size = sizeof options};
  TRY(lxla_executable_options_init(&options));
  options.donated = caches, options.n_donated = 2 * LAYERS;
  lxla_executable out;
  TRY(lxla_executable_compile(f, device, &options, &out));
  TRY(lxla_computation_release(f));
  return out;
}

typedef struct {
  const int32_t *prompt;
  int count;
  int32_t tokens[TOKENS];
} request;

static lxla_executable prefill, decode;  // the steps of 8 tokens and of one

// [recipe]
// A thread of a server: it has its own caches, and shares the executables.
static void *serve(void *argument) {
  request *own = argument;
  lxla_tensor first[STATE], state[STATE], next[STATE];
  CHECK(start(own->prompt, own->count, first) == 8);
  TRY(lxla_executable_run(prefill, first, STATE, state, STATE));
  for (int i = 0; i < TOKENS; i++) {
    TRY(lxla_executable_run(decode, state, STATE, next, STATE));  // starts the next token
    lx_read(state[TOKEN], own->tokens + i, 1);                    // waits for this one
    TRY(lxla_tensor_release_many(state, STATE));
    memcpy(state, next, sizeof state);
  }
  TRY(lxla_tensor_release_many(state, STATE));
  lx_release_all();
  return NULL;
}
// [recipe end]

static void serve_all(request *requests) {
  pthread_t threads[REQUESTS];
  for (int i = 0; i < REQUESTS; i++) CHECK(!pthread_create(&threads[i], NULL, serve, &requests[i]));
  for (int i = 0; i < REQUESTS; i++) CHECK(!pthread_join(threads[i], NULL));
}

// Decodes the requests as one batch, which each joins after its own prefill.
static void check_batch(const decoder *d, const request *requests) {
  lx_scope();
  lxla_tensor alone[REQUESTS][STATE], state[STATE];
  for (int r = 0; r < REQUESTS; r++) {
    start(requests[r].prompt, requests[r].count, state);
    TRY(lxla_executable_run(prefill, state, STATE, alone[r], STATE));
  }
  for (int i = 0; i < STATE; i++) {
    state[i] = LX_MAKE(lxla_stack, ((lxla_tensor[]){lx_note(alone[0][i]), lx_note(alone[1][i])}), REQUESTS, 0);
  }
  // [recipe]
  // The step of a batch, made from the step of one request: each has its position and caches; all share the weights.
  const int64_t axes[STATE] = {0};  // the requests are the first axis of every argument and result
  lxla_computation one = traced(d, 1), all;
  TRY(lxla_computation_vmap(one, axes, STATE, axes, STATE, REQUESTS, &all));
  lxla_executable batch = compiled(all);
  // [recipe end]
  for (int i = 0; i < TOKENS; i++) {
    int32_t tokens[REQUESTS];
    lx_read(state[TOKEN], tokens, REQUESTS);
    for (int r = 0; r < REQUESTS; r++) CHECK(tokens[r] == requests[r].tokens[i]);
    TRY(lxla_executable_run(batch, state, STATE, state, STATE));
    for (int k = 0; k < STATE; k++) lx_note(state[k]);
  }
  TRY(lxla_computation_release(one));
  TRY(lxla_executable_release(batch));
}

// Decodes by steps, which compile `programs` programs, and compares each token with the token after the whole text.
static void check_cache(const decoder *d, const request *r, uint64_t programs) {
  int32_t tokens[TOKENS], text[LENGTH] = {0};
  const uint64_t compiles = counter(env, "UncachedCompile"), donated = counter(env, "DonatedBuffers");
  generate(d, r->prompt, r->count, tokens);
  CHECK(counter(env, "UncachedCompile") == compiles + programs);
  CHECK(counter(env, "DonatedBuffers") >= donated + (TOKENS - 1) * 2 * LAYERS);
  memcpy(text, r->prompt, (size_t)r->count * sizeof *text);
  for (int i = 0, n = r->count; i < TOKENS; i++, n++) {
    lx_scope();
    text[n] = (int32_t)lx_value(lx_argmax(scores_of_whole(d, text, n), 1));
    CHECK(text[n] == tokens[i] && text[n] == r->tokens[i]);
  }
}

static char *described(lxla_executable of) {
  char *text;
  TRY(lxla_executable_describe(of, &text));
  return text;
}

// The step holds its weights as integers of 4 bits; that with weights of floats has no copy of a cache.
static void check_memory(const decoder *floats) {
  lxla_executable of_floats = compiled(traced(floats, 1));
  char *held = described(decode), *text = described(of_floats), *temporary = strstr(text, "\"temp_bytes\":");
  CHECK(strstr(held, "\"dtype\":\"s4\"") && temporary);
  CHECK(strtoll(strchr(temporary, ':') + 1, NULL, 10) < (long long)(LENGTH * WIDTH * sizeof(float)));
  lxla_string_free(held);
  lxla_string_free(text);
  TRY(lxla_executable_release(of_floats));
}

// Quantizes the matrices of a decoder. Returns the error of the scores of a prompt, relative to their size.
static double quantize(const decoder *d, int32_t dtype, double limit, const request *r, decoder *q) {
  int32_t text[LENGTH] = {0};
  memcpy(text, r->prompt, (size_t)r->count * sizeof *text);
  *q = *d;
  for (int i = 0; i < MATRICES; i++) q->w[i] = quantized(d->w[i], dtype, limit);
  lxla_tensor right = scores_of_whole(d, text, r->count), other = scores_of_whole(q, text, r->count);
  lx_step();
  return sqrt(lx_value(lx_sum(lx_square(lx_sub(other, right)))) / lx_value(lx_sum(lx_square(right))));
}

int main(void) {
  lx_scope();
  const int32_t first[] = {3, 14, 15, 9, 26}, second[] = {27, 18, 2};
  request requests[REQUESTS] = {{first, 5, {0}}, {second, 3, {0}}}, again[REQUESTS];
  memcpy(again, requests, sizeof again);
  decoder d = random_decoder(), four, eight;
  const double coarse = quantize(&d, LXLA_DTYPE_S4, 7, requests, &four);
  const double fine = quantize(&d, LXLA_DTYPE_S8, 127, requests, &eight);
  printf("error of the scores: %.3f with 4 bits, %.4f with 8\n", coarse, fine);
  CHECK(0 < fine && fine < 0.02 && 4 * fine < coarse && coarse < 0.3);

  prefill = compiled(traced(&four, 8)), decode = compiled(traced(&four, 1));
  const uint64_t donated = counter(env, "DonatedBuffers");
  serve_all(requests);
  CHECK(counter(env, "DonatedBuffers") >= donated + REQUESTS * TOKENS * 2 * LAYERS);
  check_memory(&d);
  char path[64];
  snprintf(path, sizeof path, "/tmp/inference_%ld", (long)getpid());
  TRY(lxla_executable_save(decode, path));
  TRY(lxla_executable_release(decode));
  TRY(lxla_executable_load(env, device, path, &decode));
  CHECK(!remove(path) && counter(env, "ExecutableRecompiled") == 0);
  serve_all(again);
  for (int r = 0; r < REQUESTS; r++) CHECK(!memcmp(again[r].tokens, requests[r].tokens, sizeof again[r].tokens));
  check_batch(&four, requests);
  check_cache(&four, &requests[0], 2);  // a program for prompts of up to 8 tokens, and one for a token
  check_cache(&four, &requests[1], 0);
  for (int i = 0; i < TOKENS; i++) printf("%d%c", requests[0].tokens[i], i + 1 < TOKENS ? ' ' : '\n');
  TRY(lxla_executable_release(prefill));
  TRY(lxla_executable_release(decode));
  return 0;
}
