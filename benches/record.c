// Measures recording: one lxla_binary through the C ABI, the release of its operand included, on chains of any length.
// step_real.c measures chains of mixed operations beside it.
#include "recording.h"

// With a number as argument, records one chain of that length, for counting instructions.
int main(int count, char **arguments) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  recording_operands on = recording_prepare();
  if (count > 1) {
    recording_measure(&on, ADDITIONS, atoi(arguments[1]), NULL);
    return 0;
  }
  printf("| ops in the chain | ns per op (median of 9) |\n|---|---|\n");
  for (int n = 1000; n <= 1000000; n *= 10) {
    double samples[9];
    for (int i = 0; i < 9; i++) samples[i] = recording_measure(&on, ADDITIONS, n, NULL).record;
    printf("| %d | %.1f |\n", n, median(samples, 9));
  }
  recording_release(&on);
  return 0;
}
