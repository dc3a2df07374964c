// A computation compiled as an object: a server calls it on host memory from several threads, also
// after it was saved and loaded, and a loop donates its state.
#include "frontend.h"

#include <pthread.h>
#include <unistd.h>

enum { WIDTH = 8, CLIENTS = 4, CALLS = 50, STEPS = 10 };

static lxla_computation model_of(lxla_tensor weights) {
  lxla_tensor x, y, scaled;
  TRY(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, DIMS(WIDTH), &x));
  TRY(lxla_binary(LXLA_BINARY_MULTIPLY, x, weights, &scaled));
  TRY(lxla_binary_scalar(LXLA_BINARY_ADD, scaled, 1, &y));
  lxla_computation model;
  TRY(lxla_computation_trace(&x, 1, &y, 1, &model));
  RELEASE(x, y, scaled);
  return model;
}

// [recipe]
static lxla_executable server;

// Any number of threads run one executable: nothing is recorded, looked up or compiled.
static void *client(void *first) {
  for (int call = 0; call < CALLS; call++) {
    float x[WIDTH], y[WIDTH];
    for (int i = 0; i < WIDTH; i++) x[i] = *(const float *)first + (float)(call + i);
    const void *inputs[] = {x};
    void *outputs[] = {y};
    const size_t sizes[] = {sizeof x};
    TRY(lxla_executable_run_host(server, inputs, sizes, 1, outputs, sizes, 1));
    for (int i = 0; i < WIDTH; i++) CHECK(y[i] == 2 * x[i] + 1);
  }
  return NULL;
}
// [recipe end]

int main(void) {
  float twos[WIDTH], ones[WIDTH], starts[CLIENTS];
  for (int i = 0; i < WIDTH; i++) twos[i] = 2, ones[i] = 1;
  lxla_tensor weights = from_floats(device, DIMS(WIDTH), twos);
  lxla_computation model = model_of(weights);
  // [recipe]
  // The weights are copied into the executable once; nothing else keeps the computation.
  TRY(lxla_executable_compile(model, device, NULL, &server));
  // [recipe end]
  pthread_t clients[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) {
    starts[i] = (float)(100 * i);
    CHECK(!pthread_create(&clients[i], NULL, client, &starts[i]));
  }
  for (int i = 0; i < CLIENTS; i++) CHECK(!pthread_join(clients[i], NULL));

  // [recipe]
  // Another process would load the file; nothing is compiled where plugin and processor are those of the save.
  char path[64];
  snprintf(path, sizeof path, "/tmp/frontend_executables_%ld", (long)getpid());
  TRY(lxla_executable_save(server, path));
  TRY(lxla_executable_release(server));
  TRY(lxla_executable_load(env, device, path, &server));
  // [recipe end]
  client(&starts[0]);
  CHECK(counter(env, "ExecutableRecompiled") == 0 && remove(path) == 0);
  TRY(lxla_executable_release(server));

  // [recipe]
  // A loop gives its state to each run, which reuses the memory. A snapshot would keep a value.
  lxla_executable_options options = {.struct_size = sizeof options};
  TRY(lxla_executable_options_init(&options));
  options.donated = (const size_t[]){0};
  options.n_donated = 1;
  lxla_executable update;
  TRY(lxla_executable_compile(model, device, &options, &update));
  lxla_tensor state = from_floats(device, DIMS(WIDTH), ones);
  for (int i = 0; i < STEPS; i++) {
    lxla_tensor next;
    TRY(lxla_executable_run(update, &state, 1, &next, 1));
    RELEASE(state);
    state = next;
  }
  CHECK(first_value(state, WIDTH) == 2047);
  CHECK(counter(env, "DonatedBuffers") == STEPS);
  // [recipe end]
  RELEASE(state, weights);
  TRY(lxla_executable_release(update));
  TRY(lxla_computation_release(model));
  return 0;
}
