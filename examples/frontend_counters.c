// Counters, inspection, and the disk cache.
#include "frontend.h"

static const char FOLDER[] = "frontend_counters.cache";

static lxla_env cached_env(void) {
  // [recipe]
  lxla_env_options options = {.struct_size = sizeof options};
  lxla_env own;
  TRY(lxla_env_options_init(&options));
  options.cache_dir = FOLDER;  // or LXLA_CACHE_DIR for environments that name none
  TRY(lxla_env_create(&options, &own));
  // [recipe end]
  return own;
}

static void work(lxla_env own) {
  float values[] = {1, 2, 3};
  TRY(lxla_env_enter(own));
  lxla_tensor x = from_floats(device, DIMS(3), values), y = unary(LXLA_UNARY_TANH, x);
  uint8_t hash[32];
  // [recipe]
  char *text;
  TRY(lxla_step_stablehlo(own, device, &text));  // what a step would compile now, donors marked
  CHECK(strstr(text, "stablehlo.tanh"));
  lxla_string_free(text);
  TRY(lxla_graph_hash(own, device, &y, 1, hash));  // of the sync's key; the same in every process
  // [recipe end]
  CHECK(fabsf(first_value(y, 3) - tanhf(1)) < 1e-6f);
  RELEASE(x, y);
  TRY(lxla_env_exit(own));
}

int main(void) {
  lxla_env first = cached_env();
  work(first);
  // The next environment, in this process or another, finds the executable on the disk.
  lxla_env second = cached_env();
  work(second);
  // [recipe]
  CHECK(counter(second, "UncachedCompile") == 0 && counter(second, "PersistentCacheHit") == 1);
  char *json;
  TRY(lxla_env_metrics_json(second, &json));  // all counters and options
  CHECK(strstr(json, "\"PersistentCacheHit\""));
  lxla_string_free(json);
  TRY(lxla_env_metrics_reset(second));  // measure one part of a program
  CHECK(counter(second, "ExecuteComputation") == 0);
  // [recipe end]
  TRY(lxla_env_release(first));
  TRY(lxla_env_release(second));
  return 0;
}
