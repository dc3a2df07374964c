// Checks the header in C: it may be included twice, declares every exported function, and keeps its layouts and
// numbers. With the path of lazyxla.symbols as argument, the program also compares the table below with that list.
#include "lazyxla.h"

#include "lazyxla.h"

#include <stdio.h>
#include <string.h>

#define SAME(what, wanted) _Static_assert((what) == (wanted), #what " has changed")

SAME(sizeof(lxla_tensor), 8);
SAME(sizeof(lxla_env), 8);
SAME(sizeof(lxla_save_ticket), 8);
SAME(sizeof(lxla_mesh), 8);
SAME(sizeof(lxla_device), 8);
SAME(offsetof(lxla_device, kind), 0);
SAME(offsetof(lxla_device, ordinal), 4);
SAME(sizeof(lxla_scalar), 24);
SAME(offsetof(lxla_scalar, dtype), 0);
SAME(offsetof(lxla_scalar, reserved), 4);
SAME(offsetof(lxla_scalar, value), 8);
SAME(sizeof(lxla_scalar_value), 16);

SAME(offsetof(lxla_dtype_limits, kind), 8);
SAME(offsetof(lxla_dtype_limits, has_negative_zero), 36);
SAME(offsetof(lxla_dtype_limits, eps), 40);
SAME(offsetof(lxla_dtype_limits, integer_max), 88);
_Static_assert(sizeof(lxla_dtype_limits) >= 96, "fields were taken away");

// Checks offsets. Fields are only ever appended, so the size may grow, but these must not change.
SAME(offsetof(lxla_env_options, struct_size), 0);
SAME(offsetof(lxla_env_options, plugin_path), 8);
SAME(offsetof(lxla_env_options, cache_dir), 16);
SAME(offsetof(lxla_env_options, cache_capacity), 24);
SAME(offsetof(lxla_env_options, max_program_ops), 32);
SAME(offsetof(lxla_env_options, device_count), 40);
SAME(offsetof(lxla_env_options, use_native_for_cpu_tensor), 44);
SAME(offsetof(lxla_env_options, mixed_device_policy), 48);
SAME(offsetof(lxla_env_options, donation), 52);
SAME(offsetof(lxla_env_options, process_id), 56);
SAME(offsetof(lxla_env_options, process_count), 60);
SAME(offsetof(lxla_env_options, key_value_store), 64);
SAME(offsetof(lxla_env_options, plugin_options), 72);
_Static_assert(sizeof(lxla_env_options) >= 80, "fields were taken away");
SAME(offsetof(lxla_key_value_store, struct_size), 0);
SAME(offsetof(lxla_key_value_store, user), 8);
SAME(offsetof(lxla_key_value_store, get), 16);
SAME(offsetof(lxla_key_value_store, put), 24);
SAME(offsetof(lxla_key_value_store, try_get), 32);
_Static_assert(sizeof(lxla_key_value_store) >= 40, "fields were taken away");

SAME(offsetof(lxla_attention_options, struct_size), 0);
SAME(offsetof(lxla_attention_options, scale), 8);
SAME(offsetof(lxla_attention_options, causal), 16);
_Static_assert(sizeof(lxla_attention_options) >= 24, "fields were taken away");
SAME(offsetof(lxla_convolution_options, struct_size), 0);
SAME(offsetof(lxla_convolution_options, spatial_rank), 8);
SAME(offsetof(lxla_convolution_options, window_strides), 16);
SAME(offsetof(lxla_convolution_options, window_reversal), 56);
SAME(offsetof(lxla_convolution_options, out_dimensions), 80);
SAME(offsetof(lxla_convolution_options, feature_group_count), 88);
SAME(offsetof(lxla_convolution_options, batch_group_count), 96);
SAME(offsetof(lxla_convolution_options, dtype), 104);
_Static_assert(sizeof(lxla_convolution_options) >= 112, "fields were taken away");
SAME(offsetof(lxla_custom_call_options, struct_size), 0);
SAME(offsetof(lxla_custom_call_options, backend_config), 8);
SAME(offsetof(lxla_custom_call_options, api_version), 16);
SAME(offsetof(lxla_custom_call_options, has_side_effect), 20);
_Static_assert(sizeof(lxla_custom_call_options) >= 24, "fields were taken away");
SAME(offsetof(lxla_vjp_options, struct_size), 0);
SAME(offsetof(lxla_vjp_options, wrt), 8);
SAME(offsetof(lxla_vjp_options, n_wrt), 16);
SAME(offsetof(lxla_vjp_options, captured), 24);
SAME(offsetof(lxla_vjp_options, checkpoint), 28);
SAME(offsetof(lxla_vjp_options, saved_names), 32);
SAME(offsetof(lxla_vjp_options, n_saved_names), 40);
_Static_assert(sizeof(lxla_vjp_options) >= 48, "fields were taken away");
SAME(offsetof(lxla_gradients_options, struct_size), 0);
SAME(offsetof(lxla_gradients_options, require_connected), 8);
_Static_assert(sizeof(lxla_gradients_options) >= 16, "fields were taken away");
SAME(offsetof(lxla_save_options, struct_size), 0);
SAME(offsetof(lxla_save_options, metadata_keys), 8);
SAME(offsetof(lxla_save_options, metadata_values), 16);
SAME(offsetof(lxla_save_options, n_metadata), 24);
SAME(offsetof(lxla_save_options, keep_metadata), 32);
_Static_assert(sizeof(lxla_save_options) >= 40, "fields were taken away");
SAME(offsetof(lxla_gather_options, struct_size), 0);
SAME(offsetof(lxla_gather_options, offset_dims), 8);
SAME(offsetof(lxla_gather_options, n_offset_dims), 16);
SAME(offsetof(lxla_gather_options, collapsed_slice_dims), 24);
SAME(offsetof(lxla_gather_options, operand_batching_dims), 40);
SAME(offsetof(lxla_gather_options, start_indices_batching_dims), 56);
SAME(offsetof(lxla_gather_options, start_index_map), 72);
SAME(offsetof(lxla_gather_options, index_vector_dim), 88);
SAME(offsetof(lxla_gather_options, slice_sizes), 96);
SAME(offsetof(lxla_gather_options, indices_are_sorted), 112);
SAME(offsetof(lxla_scatter_options, update_window_dims), 8);
SAME(offsetof(lxla_scatter_options, inserted_window_dims), 24);
SAME(offsetof(lxla_scatter_options, input_batching_dims), 40);
SAME(offsetof(lxla_scatter_options, scatter_indices_batching_dims), 56);
SAME(offsetof(lxla_scatter_options, scatter_dims_to_operand_dims), 72);
SAME(offsetof(lxla_scatter_options, index_vector_dim), 88);
SAME(offsetof(lxla_scatter_options, indices_are_sorted), 96);
SAME(offsetof(lxla_scatter_options, unique_indices), 100);
SAME(offsetof(lxla_window_options, rank), 8);
SAME(offsetof(lxla_window_options, window_dimensions), 16);
SAME(offsetof(lxla_window_options, strides), 24);
SAME(offsetof(lxla_window_options, base_dilations), 32);
SAME(offsetof(lxla_window_options, window_dilations), 40);
SAME(offsetof(lxla_window_options, low), 48);
SAME(offsetof(lxla_window_options, high), 56);

SAME(sizeof(lxla_status), 4);
SAME(LXLA_ABI_VERSION, 1);
SAME(LXLA_VERSION_MAJOR, 0);

typedef struct {
  const char *name;
  void (*address)(void);
} function;

// frozen.h has all constants and functions.
#define CONSTANT(name, number) _Static_assert((name) == (number), #name " has changed");
#define FUNCTION(name)
#include "frozen.h"
#undef CONSTANT
#undef FUNCTION

#define CONSTANT(name, number)
#define FUNCTION(name) {#name, (void (*)(void))name},
static const function functions[] = {
#include "frozen.h"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

// Checks that the list has the table's names, one per line, in the same order.
static int is_the_list(const char *path) {
  FILE *list = fopen(path, "r");
  if (!list) {
    fprintf(stderr, "cannot open %s\n", path);
    return 0;
  }
  char line[128];
  size_t n = 0;
  for (; fgets(line, sizeof line, list); n++) {
    line[strcspn(line, "\n")] = 0;
    if (n == FUNCTIONS || strcmp(line, functions[n].name) != 0) {
      const char *wanted = n < FUNCTIONS ? functions[n].name : "the end";
      fprintf(stderr, "line %zu of %s is %s, want %s\n", n + 1, path, line, wanted);
      break;
    }
  }
  int same = feof(list) && n == FUNCTIONS;
  if (feof(list) && n < FUNCTIONS) fprintf(stderr, "%s ends before %s\n", path, functions[n].name);
  fclose(list);
  return same;
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < FUNCTIONS; i++)
    if (!functions[i].address) return 1;
  if (lxla_abi_version() != LXLA_ABI_VERSION) return 1;
  return argc < 2 || is_the_list(argv[1]) ? 0 : 1;
}
