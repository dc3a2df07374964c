// Prints the hashes of hash_programs.h, one per line; with an argument, the hashes of the same work done in another
// way.
#include "hash_programs.h"

int main(int argc, char **argv) {
  uint8_t hashes[PROGRAMS][32];
  (void)argv;
  hash_all(argc > 1, hashes);
  for (int i = 0; i < PROGRAMS; i++) {
    for (int k = 0; k < 32; k++) printf("%02x", hashes[i][k]);
    printf("\n");
  }
  return 0;
}
