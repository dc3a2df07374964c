// Text as numbers of characters, and windows of it for training. Header only, with frontend.h, mesh.h and random.h:
// copy them.
#ifndef TEXT_H
#define TEXT_H

#include "frontend.h"
#include "mesh.h"
#include "random.h"

enum { MOST_SYMBOLS = 96 };
static const double HELD_OUT = 0.1;

// The text as symbol numbers. Symbols are the bytes that occur, in ascending order. The end of the text is held out.
typedef struct {
  int32_t *ids;
  int64_t length, training;
  int symbols;
  unsigned char symbol[MOST_SYMBOLS];
  int id_of[256];  // -1: not in the text
} corpus;

static inline corpus load_text(const char *path) {
  corpus c = {0};
  int seen[256] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  CHECK(fseek(file, 0, SEEK_END) == 0 && (c.length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0);
  unsigned char *bytes = memory((size_t)c.length);
  CHECK(fread(bytes, 1, (size_t)c.length, file) == (size_t)c.length);
  fclose(file);
  for (int64_t i = 0; i < c.length; i++) seen[bytes[i]] = 1;
  for (int b = 0; b < 256; b++) {
    c.id_of[b] = -1;
    if (!seen[b]) continue;
    CHECK(c.symbols < MOST_SYMBOLS);
    c.symbol[c.symbols] = (unsigned char)b, c.id_of[b] = c.symbols++;
  }
  c.ids = memory((size_t)c.length * sizeof *c.ids);
  for (int64_t i = 0; i < c.length; i++) c.ids[i] = c.id_of[bytes[i]];
  free(bytes);
  c.training = c.length - (int64_t)((double)c.length * HELD_OUT);
  return c;
}

// On a mesh, windows are split over the axis data.
static inline lxla_tensor from_ids(const int32_t *ids, const int64_t *dims, size_t rank) {
  size_t bytes = sizeof *ids;
  for (size_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
  return mesh_from_host(device, LXLA_DTYPE_S32, dims, rank, ids, bytes, "data,-");
}

// Windows of text, and the windows one character later: the targets.
typedef struct {
  lxla_tensor tokens, targets;  // s32[batch, context]
} batch;

// Returns the windows of `context` characters that begin at `starts`.
static inline batch batch_at(const corpus *c, const int64_t *starts, int64_t windows, int64_t context) {
  size_t n = (size_t)(windows * context);
  int32_t *tokens = memory(n * sizeof *tokens), *targets = memory(n * sizeof *targets);
  for (int64_t i = 0; i < windows; i++) {
    memcpy(tokens + i * context, c->ids + starts[i], (size_t)context * sizeof *tokens);
    memcpy(targets + i * context, c->ids + starts[i] + 1, (size_t)context * sizeof *targets);
  }
  batch b = {from_ids(tokens, DIMS(windows, context)), from_ids(targets, DIMS(windows, context))};
  free(tokens), free(targets);
  return b;
}

static inline batch random_batch(const corpus *c, int64_t windows, int64_t context, uint64_t *state) {
  int64_t *starts = memory((size_t)windows * sizeof *starts);
  for (int64_t i = 0; i < windows; i++) starts[i] = (int64_t)(next_number(state) % (uint64_t)(c->training - context));
  batch b = batch_at(c, starts, windows, context);
  free(starts);
  return b;
}

#endif
