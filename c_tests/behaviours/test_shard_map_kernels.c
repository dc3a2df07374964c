// Calls of kernels with effects before, in and after a shard_map.
#include <pthread.h>

#include "shard_map.h"

// Calls in the order in which they were made: the first element of the input of each.
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;
static int notes[64 * DEVICES], n_notes;
static int32_t note(const lxla_kernel_call *call, void *user) {
  (void)user;
  pthread_mutex_lock(&notes_lock);
  CHECK(n_notes < 64 * DEVICES);
  notes[n_notes++] = (int)*(const float *)call->inputs[0].data;
  pthread_mutex_unlock(&notes_lock);
  return 0;
}
static void noted(lxla_tensor x) {
  const lxla_kernel_options options = {.struct_size = sizeof options, .ordered = LXLA_ON};
  OK(lxla_host_call(env, note, NULL, &options, &x, 1, NULL, NULL, NULL, 0, NULL));
}

// note(100); on each device: note(10 i), note(10 i + 1), note(its number + 200); note(101), where i is the device's
// row.
static void ordered_calls(void) {
  const int n = (int)devices_of(&axes);
  float rows[DEVICES];
  for (int i = 0; i < n; i++) rows[i] = 10 * (float)i;
  const char *split = axes.rank == 1 ? "a" : "a+b";
  const lxla_tensor x = split_of(F32, DIMS(n), rows, (size_t)n * sizeof *rows, split);
  const lxla_tensor piece = hole_of(F32, DIMS(1)), next = own(scalar(ADD, piece, 1));
  lxla_tensor index, before, after;
  OK(lxla_convert(index_over(split), F32, &index));
  index = own(scalar(ADD, own(index), 200));
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 100, &before));
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 101, &after));
  own(before), own(after);
  n_notes = 0;
  noted(before);
  noted(piece);
  noted(next);
  noted(index);
  const lxla_computation body = traces(&piece, 1, &next, 1);
  const lxla_tensor y = mapped_one(body, split, x, split);
  noted(after);
  mesh_step();
  float got[DEVICES];
  OK(lxla_tensor_read(y, got, (size_t)n * sizeof *got));
  // Calls on whole arrays are made by each device. At any time, no device can be further than the one before it allows.
  int begun = 0, first[DEVICES] = {0}, second[DEVICES] = {0}, third[DEVICES] = {0}, ended = 0, begun_inside = 0;
  for (int k = 0; k < n_notes; k++) {
    const int at = notes[k];
    if (at == 100) {
      begun++;
    } else if (at == 101) {
      ended++;
    } else if (at >= 200) {
      third[at - 200]++;
      EQUAL(second[at - 200], third[at - 200]);
    } else if (at % 10 == 0) {
      first[at / 10]++;
      begun_inside++;
    } else {
      second[at / 10]++;
      EQUAL(first[at / 10], second[at / 10]);
    }
    CHECK(begun_inside <= begun);
    int done = 0;
    for (int i = 0; i < n; i++) done += third[i];
    CHECK(ended <= done);
  }
  EQUAL(begun, n);
  EQUAL(ended, n);
  EQUAL(n_notes, 5 * n);
  for (int i = 0; i < n; i++) CHECK(third[i] == 1 && got[i] == rows[i] + 1);
}
TEST(calls_of_kernels_in_a_body_are_made_in_order_on_each_device) {
  static const char *const meshes[] = {"a=2", "a=4", "a=2,b=2", "a=2,b=4"};
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
    start_on(meshes[i]);
    ordered_calls();
    finish();
  }
}

// On each device: note(sum of the rows), note(its number + 1000), then a loop in the body, traced before the body.
static void calls_before_a_loop(void) {
  const int n = (int)devices_of(&axes);
  float rows[DEVICES], got[DEVICES];
  int sum = 0, sums = 0, seen[DEVICES] = {0};
  for (int i = 0; i < n; i++) rows[i] = 10 * (float)i, sum += 10 * i;
  const char *split = axes.rank == 1 ? "a" : "a+b";
  const lxla_tensor x = split_of(F32, DIMS(n), rows, (size_t)n * sizeof *rows, split);
  const lxla_tensor piece = hole_of(F32, DIMS(1));
  lxla_tensor index, last;
  OK(lxla_convert(index_over(split), F32, &index));
  n_notes = 0;
  noted(all_reduced(LXLA_REDUCE_SUM, piece, split));
  noted(own(scalar(ADD, own(index), 1000)));
  const lxla_tensor carry = hole_of(F32, DIMS(1)), next = own(scalar(ADD, carry, 1));
  const lxla_computation step = traces(&carry, 1, &next, 1);
  OK(lxla_scan(step, &piece, 1, NULL, 0, 3, 0, &last, NULL, 0));
  own(last);
  const lxla_computation body = traces(&piece, 1, &last, 1);
  const lxla_tensor y = mapped_one(body, split, x, split);
  mesh_step();
  OK(lxla_tensor_read(y, got, (size_t)n * sizeof *got));
  EQUAL(n_notes, 2 * n);
  for (int k = 0; k < n_notes; k++) {
    if (notes[k] >= 1000) {
      seen[notes[k] - 1000]++;
    } else {
      EQUAL(notes[k], sum);
      sums++;
    }
  }
  EQUAL(sums, n);
  for (int i = 0; i < n; i++) CHECK(seen[i] == 1 && got[i] == rows[i] + 3);
}
TEST(calls_on_collectives_belong_to_the_body_and_not_to_a_loop_inside) {
  static const char *const meshes[] = {"a=2", "a=4", "a=2,b=4"};
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
    start_on(meshes[i]);
    calls_before_a_loop();
    finish();
  }
}
