// Saving and loading while training: a save never donates, and may run in the background.
#include "frontend.h"

static const char PATH[] = "frontend_save.safetensors";

// [recipe]
static const char *const NAMES[] = {"weights", "momentum"};

// Starts a save of the values of now. The caller may step, overwrite and release the tensors at once.
static lxla_save_ticket start_checkpoint(const char *path, const lxla_tensor *state) {
  lxla_save_ticket ticket;
  TRY(lxla_save_async(path, NAMES, state, 2, &ticket));
  return ticket;
}

// Ends a save: OK when the file is on the disk, else the reason why it is not.
static void finish_checkpoint(lxla_save_ticket ticket) {
  TRY(lxla_save_wait(ticket));
  TRY(lxla_save_ticket_release(ticket));
}

// New tensors with the values of a file.
static void load_checkpoint(const char *path, lxla_tensor *out_state) {
  for (int i = 0; i < 2; i++) TRY(lxla_load(env, device, path, NAMES[i], &out_state[i]));
}
// [recipe end]

static uint64_t donated_by_step(const lxla_tensor *state) {
  uint64_t before = counter(env, "DonatedBuffers");
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, state[1], 0.5));
  TRY(lxla_binary_inplace(LXLA_BINARY_ADD, state[0], state[1]));
  TRY(lxla_mark_step(env, device, 1));
  return counter(env, "DonatedBuffers") - before;
}

static float value_of(const lxla_tensor *state, int i) { return first_value(state[i], 2); }

int main(void) {
  float start[] = {1, 2}, slope[] = {8, 8};
  lxla_tensor state[] = {from_floats(device, DIMS(2), start), from_floats(device, DIMS(2), slope)}, loaded[2];
  TRY(lxla_mark_step(env, device, 1));
  CHECK(donated_by_step(state) == 2);  // weights 5, momentum 4
  lxla_save_ticket ticket = start_checkpoint(PATH, state);
  donated_by_step(state);  // weights 7, momentum 2: the file keeps 5 and 4
  finish_checkpoint(ticket);
  CHECK(value_of(state, 0) == 7 && value_of(state, 1) == 2);
  CHECK(donated_by_step(state) == 2);  // nothing holds the buffers any more

  char *names;
  TRY(lxla_file_names(PATH, &names));
  CHECK(strstr(names, "weights") && strstr(names, "f32"));
  lxla_string_free(names);

  // Resuming: assign keeps the handles that the program already has.
  load_checkpoint(PATH, loaded);
  for (int i = 0; i < 2; i++) TRY(lxla_tensor_assign(state[i], loaded[i]));
  RELEASE(loaded[0], loaded[1]);
  CHECK(value_of(state, 0) == 5 && value_of(state, 1) == 4);

  // A save of a tensor that depends on a placeholder is refused, and computes nothing.
  lxla_tensor p = placeholder(DIMS(2)), sum = binary(LXLA_BINARY_ADD, p, state[0]);
  CHECK(lxla_save(PATH, NAMES, &sum, 1) == LXLA_FAILED_PRECONDITION);
  RELEASE(p, sum, state[0], state[1]);
  remove(PATH);
  return 0;
}
