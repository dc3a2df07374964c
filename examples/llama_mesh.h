// The training step of Llama 3.1 on a mesh with the axes data and model. As in Megatron, model splits the axis of each
// matrix that needs no exchange until the sum after attention or MLP. data splits the other axis, the moments in the
// same way, and the sequence, so that no device has a copy of a large tensor.
#ifndef LLAMA_MESH_H
#define LLAMA_MESH_H

#include "llama_training.h"
#include "mesh.h"

// Returns the sharding of input `i` of a step; weights of layers are stacked.
static inline const char *step_sharding(size_t i) {
  static const char *const whole[LAYERS] = {"data", "model,data", "-", "data,model"};
  static const char *const each[LAYER_WEIGHTS] = {
      "-,-", "-,data,model", "-,data,model", "-,data,model", "-,model,data",  // norm, query, key, value, output
      "-,-", "-,data,model", "-,data,model", "-,model,data"};                 // norm, gate, up, down
  if (i >= RATES) return "";
  if (i == TARGETS) i = TOKENS;
  if (i >= FIRST_M) i = EMBEDDING + (i - FIRST_M) % WEIGHTS;
  return i < LAYERS ? whole[i] : each[i - LAYERS];
}

// A step traced on sharded placeholders.
typedef struct {
  lxla_tensor in[STEP_INPUTS], out[STEP_RESULTS];
} recorded_step;

static inline void release_step(recorded_step *s) {
  TRY(lxla_tensor_release_many(s->in, STEP_INPUTS));
  TRY(lxla_tensor_release_many(s->out, STEP_RESULTS));
}

// Records a step. Placeholders are created on `near`, another device of the mesh's environment, and moved to the mesh
// with their sharding. Updated weights and moments keep their shardings.
static inline recorded_step record_step(const llama *m, lxla_computation step, lxla_device near) {
  recorded_step s;
  const lxla_device place = llama_device;
  llama_device = near;
  step_placeholders(m, s.in);
  llama_device = place;
  for (size_t i = 0; i < STEP_INPUTS; i++) s.in[i] = mesh_split(s.in[i], step_sharding(i));
  TRY(lxla_computation_call(step, s.in, STEP_INPUTS, s.out, STEP_RESULTS));
  for (size_t i = 1; i < STEP_RESULTS; i++) s.out[i] = mesh_split(s.out[i], step_sharding(EMBEDDING + i - 1));
  return s;
}

// Returns the bytes of the step's inputs that one device holds.
static inline double bytes_of_a_device(const recorded_step *s) {
  double bytes = 0;
  for (size_t i = 0; i < STEP_INPUTS; i++) {
    char text[MESH_TEXT];
    int64_t dims[MESH_MOST_RANK];
    size_t rank, size;
    int32_t dtype;
    TRY(lxla_tensor_info(s->in[i], &dtype, &rank, dims, MESH_MOST_RANK));
    TRY(lxla_dtype_size(dtype, &size));
    double each = (double)size / (double)mesh_fit(step_sharding(i), dims, rank, text);
    for (size_t k = 0; k < rank; k++) each *= (double)dims[k];
    bytes += each;
  }
  return bytes;
}

#endif
