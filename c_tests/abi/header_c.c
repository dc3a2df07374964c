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
SAME(LXLA_UNARY_CONJ, 30);
SAME(LXLA_UNARY_SINH, 31);
SAME(LXLA_UNARY_TRIGAMMA, 44);
SAME(LXLA_BINARY_LOGADDEXP, 20);
SAME(LXLA_BINARY_NEXT_AFTER, 21);
SAME(LXLA_BINARY_ZETA, 23);
SAME(LXLA_KIND_COMPLEX, 5);

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
SAME(LXLA_OK, 0);
SAME(LXLA_INVALID_ARGUMENT, 3);
SAME(LXLA_UNAUTHENTICATED, 16);
SAME(LXLA_INVALID_HANDLE, 64);
SAME(LXLA_FORKED, 67);
SAME(LXLA_DEVICE_UNSPECIFIED, 0);
SAME(LXLA_DEVICE_XLA, 2);
SAME(LXLA_DEVICE_MESH, 3);
SAME(LXLA_DTYPE_PRED, 1);
SAME(LXLA_DTYPE_F32, 11);
SAME(LXLA_DTYPE_C128, 15);
SAME(LXLA_STATE_PENDING, 1);
SAME(LXLA_STATE_FAILED, 5);
SAME(LXLA_BINARY_ADD, 1);
SAME(LXLA_BINARY_SHIFT_RIGHT_LOGICAL, 15);
SAME(LXLA_UNARY_NEGATE, 1);
SAME(LXLA_UNARY_IS_FINITE, 23);
SAME(LXLA_COMPARE_LT, 6);
SAME(LXLA_REDUCE_ANY, 6);
SAME(LXLA_FFT_FFT, 1);
SAME(LXLA_FFT_IRFFT, 4);
SAME(LXLA_TRANSPOSE_NO_TRANSPOSE, 1);
SAME(LXLA_TRANSPOSE_ADJOINT, 3);
SAME(LXLA_ACTIVATION_SILU, 4);
SAME(LXLA_ACTIVATION_HARD_SWISH, 12);
SAME(LXLA_SPECIAL_ERFC, 2);
SAME(LXLA_SPECIAL_NORMAL_CDF, 3);
SAME(LXLA_CHECKPOINT_SAVE_ALL, 1);
SAME(LXLA_CHECKPOINT_SAVE_NAMED, 4);
SAME(LXLA_SCATTER_COPY, 1);
SAME(LXLA_SCATTER_MIN, 5);
SAME(LXLA_ABI_VERSION, 1);
SAME(LXLA_VERSION_MAJOR, 0);

typedef struct {
  const char *name;
  void (*address)(void);
} function;

#define FUNCTION(name) {#name, (void (*)(void))name}
static const function functions[] = {
    FUNCTION(lxla_abi_version),
    FUNCTION(lxla_activation),
    FUNCTION(lxla_all_gather),
    FUNCTION(lxla_all_reduce),
    FUNCTION(lxla_all_to_all),
    FUNCTION(lxla_arange),
    FUNCTION(lxla_arange_with_scalars),
    FUNCTION(lxla_argmax),
    FUNCTION(lxla_argmin),
    FUNCTION(lxla_argsort),
    FUNCTION(lxla_axis_index),
    FUNCTION(lxla_batch_norm_grad),
    FUNCTION(lxla_batch_norm_inference),
    FUNCTION(lxla_batch_norm_training),
    FUNCTION(lxla_binary),
    FUNCTION(lxla_binary_inplace),
    FUNCTION(lxla_binary_scalar),
    FUNCTION(lxla_binary_scalar_inplace),
    FUNCTION(lxla_binary_with_scalar),
    FUNCTION(lxla_binary_with_scalar_inplace),
    FUNCTION(lxla_bitcast_convert),
    FUNCTION(lxla_broadcast_to),
    FUNCTION(lxla_case),
    FUNCTION(lxla_checkpoint_name),
    FUNCTION(lxla_cholesky),
    FUNCTION(lxla_clamp),
    FUNCTION(lxla_clamp_with_scalars),
    FUNCTION(lxla_collective_permute),
    FUNCTION(lxla_compare),
    FUNCTION(lxla_compare_scalar),
    FUNCTION(lxla_compare_total_order),
    FUNCTION(lxla_compare_with_scalar),
    FUNCTION(lxla_compiled_memory),
    FUNCTION(lxla_complex),
    FUNCTION(lxla_computation_call),
    FUNCTION(lxla_computation_captured),
    FUNCTION(lxla_computation_checkpoint),
    FUNCTION(lxla_computation_info),
    FUNCTION(lxla_computation_jvp),
    FUNCTION(lxla_computation_lift),
    FUNCTION(lxla_computation_release),
    FUNCTION(lxla_computation_retain),
    FUNCTION(lxla_computation_stablehlo),
    FUNCTION(lxla_computation_trace),
    FUNCTION(lxla_computation_value_and_grad),
    FUNCTION(lxla_computation_vjp),
    FUNCTION(lxla_computation_vmap),
    FUNCTION(lxla_computation_with_jvp),
    FUNCTION(lxla_computation_with_vjp),
    FUNCTION(lxla_computation_with_vmap),
    FUNCTION(lxla_concatenate),
    FUNCTION(lxla_cond),
    FUNCTION(lxla_convert),
    FUNCTION(lxla_convolution),
    FUNCTION(lxla_convolution_options_init),
    FUNCTION(lxla_cumulative),
    FUNCTION(lxla_custom_call),
    FUNCTION(lxla_custom_call_options_init),
    FUNCTION(lxla_device_memory_stats),
    FUNCTION(lxla_device_parse),
    FUNCTION(lxla_dot_general),
    FUNCTION(lxla_dtype_can_cast),
    FUNCTION(lxla_dtype_info),
    FUNCTION(lxla_dtype_name),
    FUNCTION(lxla_dtype_promote),
    FUNCTION(lxla_dtype_size),
    FUNCTION(lxla_dynamic_slice),
    FUNCTION(lxla_dynamic_update_slice),
    FUNCTION(lxla_einsum),
    FUNCTION(lxla_env_counter),
    FUNCTION(lxla_env_create),
    FUNCTION(lxla_env_current),
    FUNCTION(lxla_env_default),
    FUNCTION(lxla_env_device_count),
    FUNCTION(lxla_env_enter),
    FUNCTION(lxla_env_exit),
    FUNCTION(lxla_env_get_option),
    FUNCTION(lxla_env_metrics_json),
    FUNCTION(lxla_env_metrics_reset),
    FUNCTION(lxla_env_options_init),
    FUNCTION(lxla_env_release),
    FUNCTION(lxla_env_retain),
    FUNCTION(lxla_env_set_option),
    FUNCTION(lxla_expand_dims),
    FUNCTION(lxla_eye),
    FUNCTION(lxla_fft),
    FUNCTION(lxla_file_metadata),
    FUNCTION(lxla_file_names),
    FUNCTION(lxla_flip),
    FUNCTION(lxla_gather),
    FUNCTION(lxla_gather_options_init),
    FUNCTION(lxla_gradients),
    FUNCTION(lxla_graph_hash),
    FUNCTION(lxla_imag),
    FUNCTION(lxla_index),
    FUNCTION(lxla_index_add),
    FUNCTION(lxla_index_copy),
    FUNCTION(lxla_index_put),
    FUNCTION(lxla_iota),
    FUNCTION(lxla_last_error_message),
    FUNCTION(lxla_layer_norm),
    FUNCTION(lxla_linspace),
    FUNCTION(lxla_linspace_with_scalars),
    FUNCTION(lxla_load),
    FUNCTION(lxla_log_softmax),
    FUNCTION(lxla_logsumexp),
    FUNCTION(lxla_mark_step),
    FUNCTION(lxla_mask_select),
    FUNCTION(lxla_matmul),
    FUNCTION(lxla_mean),
    FUNCTION(lxla_mesh_create),
    FUNCTION(lxla_mesh_device),
    FUNCTION(lxla_mesh_info),
    FUNCTION(lxla_mesh_release),
    FUNCTION(lxla_mesh_retain),
    FUNCTION(lxla_nonzero),
    FUNCTION(lxla_norm),
    FUNCTION(lxla_one_hot),
    FUNCTION(lxla_optimization_barrier),
    FUNCTION(lxla_pad),
    FUNCTION(lxla_pad_with_scalar),
    FUNCTION(lxla_plugin_list),
    FUNCTION(lxla_random_bernoulli),
    FUNCTION(lxla_random_bits),
    FUNCTION(lxla_random_normal),
    FUNCTION(lxla_random_split),
    FUNCTION(lxla_random_uniform),
    FUNCTION(lxla_real),
    FUNCTION(lxla_reduce),
    FUNCTION(lxla_reduce_precision),
    FUNCTION(lxla_reduce_scatter),
    FUNCTION(lxla_reduce_window),
    FUNCTION(lxla_reduce_with),
    FUNCTION(lxla_repeat),
    FUNCTION(lxla_reshape),
    FUNCTION(lxla_reverse),
    FUNCTION(lxla_rng_bit_generator),
    FUNCTION(lxla_roll),
    FUNCTION(lxla_save),
    FUNCTION(lxla_save_async),
    FUNCTION(lxla_save_async_with_options),
    FUNCTION(lxla_save_done),
    FUNCTION(lxla_save_options_init),
    FUNCTION(lxla_save_progress),
    FUNCTION(lxla_save_ticket_release),
    FUNCTION(lxla_save_ticket_retain),
    FUNCTION(lxla_save_wait),
    FUNCTION(lxla_save_with_options),
    FUNCTION(lxla_scalar_cast),
    FUNCTION(lxla_scan),
    FUNCTION(lxla_scatter),
    FUNCTION(lxla_scatter_along),
    FUNCTION(lxla_scatter_options_init),
    FUNCTION(lxla_searchsorted),
    FUNCTION(lxla_select),
    FUNCTION(lxla_select_and_scatter),
    FUNCTION(lxla_select_with_scalars),
    FUNCTION(lxla_set_log_callback),
    FUNCTION(lxla_shard_map),
    FUNCTION(lxla_sharding_constraint),
    FUNCTION(lxla_slice),
    FUNCTION(lxla_slice_assign),
    FUNCTION(lxla_slice_axis),
    FUNCTION(lxla_softmax),
    FUNCTION(lxla_sort),
    FUNCTION(lxla_sort_along),
    FUNCTION(lxla_special),
    FUNCTION(lxla_split),
    FUNCTION(lxla_squeeze),
    FUNCTION(lxla_stablehlo),
    FUNCTION(lxla_stack),
    FUNCTION(lxla_standard_deviation),
    FUNCTION(lxla_status_name),
    FUNCTION(lxla_step_stablehlo),
    FUNCTION(lxla_step_tensors),
    FUNCTION(lxla_stop_gradient),
    FUNCTION(lxla_string_free),
    FUNCTION(lxla_sync),
    FUNCTION(lxla_take),
    FUNCTION(lxla_take_along_axis),
    FUNCTION(lxla_tensor_assign),
    FUNCTION(lxla_tensor_device),
    FUNCTION(lxla_tensor_dims),
    FUNCTION(lxla_tensor_dtype),
    FUNCTION(lxla_tensor_env),
    FUNCTION(lxla_tensor_from_dlpack),
    FUNCTION(lxla_tensor_from_dlpack_unversioned),
    FUNCTION(lxla_tensor_from_host),
    FUNCTION(lxla_tensor_from_host_borrowed),
    FUNCTION(lxla_tensor_from_host_sharded),
    FUNCTION(lxla_tensor_full),
    FUNCTION(lxla_tensor_full_with_scalar),
    FUNCTION(lxla_tensor_info),
    FUNCTION(lxla_tensor_placeholder),
    FUNCTION(lxla_tensor_placeholder_like),
    FUNCTION(lxla_tensor_rank),
    FUNCTION(lxla_tensor_read),
    FUNCTION(lxla_tensor_release),
    FUNCTION(lxla_tensor_release_many),
    FUNCTION(lxla_tensor_requires_grad),
    FUNCTION(lxla_tensor_retain),
    FUNCTION(lxla_tensor_set_requires_grad),
    FUNCTION(lxla_tensor_shard),
    FUNCTION(lxla_tensor_shard_read),
    FUNCTION(lxla_tensor_sharding),
    FUNCTION(lxla_tensor_sharding_picture),
    FUNCTION(lxla_tensor_snapshot),
    FUNCTION(lxla_tensor_state),
    FUNCTION(lxla_tensor_to_device),
    FUNCTION(lxla_tensor_to_dlpack),
    FUNCTION(lxla_tensor_to_dlpack_unversioned),
    FUNCTION(lxla_tensor_varying_scalar),
    FUNCTION(lxla_tensor_write),
    FUNCTION(lxla_tile),
    FUNCTION(lxla_topk),
    FUNCTION(lxla_topk_total_order),
    FUNCTION(lxla_transpose),
    FUNCTION(lxla_triangular_solve),
    FUNCTION(lxla_tril),
    FUNCTION(lxla_triu),
    FUNCTION(lxla_unary),
    FUNCTION(lxla_unique),
    FUNCTION(lxla_variance),
    FUNCTION(lxla_version),
    FUNCTION(lxla_vjp_options_init),
    FUNCTION(lxla_wait),
    FUNCTION(lxla_while),
    FUNCTION(lxla_window_options_init),
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
