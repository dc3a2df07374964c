// Losses, recorded on any tensors, including placeholders. Header only: copy it with try.h. The caller releases the
// results.
#ifndef LOSSES_H
#define LOSSES_H

#include "try.h"

// Records the mean of -log softmax(scores)[label]. `scores` are [..., classes], converted to f32; `labels` are integers
// [...], each the index of a class.
static inline lxla_tensor mean_cross_entropy(lxla_tensor scores, lxla_tensor labels) {
  lxla_tensor wide, log_p, at, picked, mean, loss;
  TRY(lxla_convert(scores, LXLA_DTYPE_F32, &wide));
  TRY(lxla_log_softmax(wide, -1, &log_p));
  TRY(lxla_expand_dims(labels, (const int64_t[]){-1}, 1, &at));
  TRY(lxla_take_along_axis(log_p, at, -1, &picked));
  TRY(lxla_mean(picked, NULL, 0, 0, &mean));
  TRY(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, mean, -1, &loss));
  const lxla_tensor done[] = {wide, log_p, at, picked, mean};
  TRY(lxla_tensor_release_many(done, sizeof done / sizeof *done));
  return loss;
}

#endif
