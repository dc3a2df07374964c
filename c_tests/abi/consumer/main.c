// A user's first program: computes 2 * x + 1 on four floats.
#include <lazyxla.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ok(lxla_status status) {
  if (status == LXLA_OK) return;
  fprintf(stderr, "%s: %s\n", lxla_status_name(status), lxla_last_error_message());
  exit(1);
}

int main(void) {
  const lxla_device device = {LXLA_DEVICE_XLA, 0};
  const int64_t dims[] = {4};
  const float values[] = {0, 1, 2, 3}, wanted[] = {1, 3, 5, 7};
  float got[4];
  lxla_env env;
  lxla_tensor x;
  ok(lxla_env_create(NULL, &env));
  ok(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, values, sizeof values, &x));
  ok(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, x, 2));
  ok(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, x, 1));
  ok(lxla_mark_step(env, device, 1));
  ok(lxla_tensor_read(x, got, sizeof got));
  ok(lxla_tensor_release(x));
  ok(lxla_env_release(env));
  // The program that loads plugins for this was installed with the library.
  char *plugins;
  ok(lxla_plugin_list(&plugins));
  const int lists_the_plugin = strstr(plugins, "\"default\":true") != NULL;
  lxla_string_free(plugins);
  if (!lists_the_plugin) return 1;

  printf("lazyxla %s: %g %g %g %g\n", lxla_version(), got[0], got[1], got[2], got[3]);
  for (int i = 0; i < 4; i++)
    if (got[i] != wanted[i]) return 1;
  return 0;
}
