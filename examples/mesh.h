// A mesh for a program that also runs on one device: opens it from a text such as "data=2,model=2", and shards tensors
// over it. Header only: copy it with try.h. Without a mesh, all functions return tensors unchanged.
//
// A sharding such as "data,-,model" may name axes that the mesh lacks. These, and axes that do not divide the size, are
// omitted, so that one text serves every mesh, and a batch of one.
#ifndef EXAMPLE_MESH_H
#define EXAMPLE_MESH_H

#include "try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESH_MOST_AXES = 4, MESH_MOST_RANK = 8, MESH_NAME = 16, MESH_TEXT = 256, MESH_MOST_SHOWN = 64 };

// The mesh of the program; id 0 if there is none.
static struct {
  lxla_env env;
  lxla_mesh handle;
  size_t rank;
  char names[MESH_MOST_AXES][MESH_NAME];
  int64_t sizes[MESH_MOST_AXES];
} the_mesh;

// Opens a mesh in an environment with as many devices. The environment becomes the current one of this thread:
// functions that are passed environment 0 use it. Returns the device of the mesh.
static inline lxla_device mesh_open(const char *text) {
  const char *names[MESH_MOST_AXES];
  lxla_env_options options = {.struct_size = sizeof options};
  int64_t devices = 1;
  for (int used = 0; *text; text += used + (text[used] == ',')) {
    long long size = 0;
    char *name = the_mesh.names[the_mesh.rank];
    if (the_mesh.rank == MESH_MOST_AXES || sscanf(text, "%15[^=]=%lld%n", name, &size, &used) != 2) {
      fprintf(stderr, "no axis of a mesh: %s; want NAME=SIZE\n", text);
      exit(2);
    }
    names[the_mesh.rank] = name;
    the_mesh.sizes[the_mesh.rank++] = size;
    devices *= size;
  }
  lxla_device place;
  TRY(lxla_env_options_init(&options));
  options.device_count = (int32_t)devices;
  TRY(lxla_env_create(&options, &the_mesh.env));
  TRY(lxla_env_enter(the_mesh.env));
  TRY(lxla_mesh_create(the_mesh.env, names, the_mesh.sizes, the_mesh.rank, NULL, &the_mesh.handle));
  TRY(lxla_mesh_device(the_mesh.handle, &place));
  return place;
}

static inline void mesh_close(void) {
  if (!the_mesh.handle.id) return;
  TRY(lxla_mesh_release(the_mesh.handle));
  TRY(lxla_env_exit(the_mesh.env));
  TRY(lxla_env_release(the_mesh.env));
  memset(&the_mesh, 0, sizeof the_mesh);
}

// Returns the size of the axis whose name has `length` characters; 0 if the mesh has none.
static inline int64_t mesh_axis(const char *name, size_t length) {
  for (size_t i = 0; i < the_mesh.rank; i++)
    if (strlen(the_mesh.names[i]) == length && strncmp(the_mesh.names[i], name, length) == 0) return the_mesh.sizes[i];
  return 0;
}

// Writes the part of a sharding that this mesh and these sizes permit. Returns the number of pieces.
static inline int64_t mesh_fit(const char *sharding, const int64_t *dims, size_t rank, char *out) {
  int64_t all = 1;
  *out = 0;
  for (size_t i = 0; i < rank; i++) {
    char entry[MESH_TEXT] = "";
    int64_t pieces = 1;
    const char *end = sharding + strcspn(sharding, ",");
    while (sharding < end) {
      const size_t length = strcspn(sharding, "+,");
      const int64_t size = mesh_axis(sharding, length);
      if (size > 0 && dims[i] % (pieces * size) == 0) {
        pieces *= size;
        sprintf(entry + strlen(entry), "%s%.*s", *entry ? "+" : "", (int)length, sharding);
      }
      sharding += length + (sharding[length] == '+');
    }
    sharding += *sharding == ',';
    sprintf(out + strlen(out), "%s%s", i ? "," : "", *entry ? entry : "-");
    all *= pieces;
  }
  return all;
}

static inline void mesh_fit_tensor(const char *sharding, lxla_tensor x, char *out) {
  int64_t dims[MESH_MOST_RANK];
  size_t rank;
  TRY(lxla_tensor_info(x, NULL, &rank, dims, MESH_MOST_RANK));
  mesh_fit(sharding, dims, rank, out);
}

// Returns a tensor on the mesh with the value of x and a sharding; "" replicates it. Releases x.
static inline lxla_tensor mesh_split(lxla_tensor x, const char *sharding) {
  if (!the_mesh.handle.id) return x;
  char text[MESH_TEXT];
  lxla_tensor out;
  mesh_fit_tensor(sharding, x, text);
  TRY(lxla_tensor_shard(x, the_mesh.handle, text, &out));
  TRY(lxla_tensor_release(x));
  return out;
}

// Like lxla_tensor_from_host, in the current environment; on a mesh, with a sharding.
static inline lxla_tensor mesh_from_host(lxla_device device, int32_t dtype, const int64_t *dims, size_t rank,
                                         const void *data, size_t bytes, const char *sharding) {
  lxla_tensor out;
  if (!the_mesh.handle.id) {
    TRY(lxla_tensor_from_host((lxla_env){0}, device, dtype, dims, rank, data, bytes, &out));
    return out;
  }
  char text[MESH_TEXT];
  mesh_fit(sharding, dims, rank, text);
  TRY(lxla_tensor_from_host_sharded(the_mesh.handle, dtype, dims, rank, data, bytes, text, &out));
  return out;
}

// Sharding rule: tensors of this name get this sharding.
typedef struct {
  const char *name, *sharding;
} mesh_rule;

// Shards named tensors by rules. Tensors without a rule are replicated.
static inline void mesh_place(const mesh_rule *rules, size_t n_rules, const char *const *names, lxla_tensor *tensors,
                              size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *sharding = "";
    for (size_t k = 0; k < n_rules; k++)
      if (strcmp(rules[k].name, names[i]) == 0) sharding = rules[k].sharding;
    tensors[i] = mesh_split(tensors[i], sharding);
  }
}

// Prints the sharding of a tensor, and unless the mesh is too large, a drawing of the devices of each piece.
static inline void mesh_show(const char *name, lxla_tensor x) {
  if (!the_mesh.handle.id) return;
  int64_t devices = 1;
  for (size_t i = 0; i < the_mesh.rank; i++) devices *= the_mesh.sizes[i];
  char *sharding, *picture;
  TRY(lxla_tensor_sharding(x, &sharding));
  printf("  %s is split by \"%s\"\n", name, sharding);
  lxla_string_free(sharding);
  if (devices > MESH_MOST_SHOWN) return;
  TRY(lxla_tensor_sharding_picture(x, &picture));
  printf("%s\n", picture);
  lxla_string_free(picture);
}

#endif
