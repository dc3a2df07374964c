// Losses, recorded on any tensors, including placeholders. Header only: copy it. The caller releases the results.
#ifndef LOSSES_H
#define LOSSES_H

#include "lazyxla.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef TRY
#define TRY(call)                                                                        \
  do {                                                                                   \
    lxla_status status_ = (call);                                                        \
    if (status_ != LXLA_OK) {                                                            \
      fprintf(stderr, "%s: %s\n", lxla_status_name(status_), lxla_last_error_message()); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)
#endif

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
