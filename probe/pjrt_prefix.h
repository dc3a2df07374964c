// The first part of the PJRT C API, which is the same in every version 0.x: enough to ask a plugin for its version.
// c_tests/faults/broken_plugin.c compares it with pjrt_c_api.h. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_PJRT_PREFIX_H
#define LAZYXLA_PJRT_PREFIX_H

#include <stdint.h>
#include <stddef.h>

// Plugins that are newer than this minor version may have longer argument structs.
enum { PREFIX_MINOR = 81 };

typedef struct {
  size_t struct_size;
  void *extension_start;
  void *error;
} prefix_error_args;

typedef struct {
  size_t struct_size;
  void *extension_start;
  const void *error;
  const char *message;
  size_t message_size;
} prefix_message_args;

typedef struct {
  size_t struct_size;
  void *extension_start;
} prefix_initialize_args;

typedef struct {
  size_t struct_size;
  void *extension_start;
  const char *name;
  size_t name_size;
  int type;
  union {
    const void *pointer;
    int64_t integer;
  } value;
  size_t value_size;
} prefix_named_value;

typedef struct {
  size_t struct_size;
  void *extension_start;
  const prefix_named_value *attributes;
  size_t num_attributes;
} prefix_attributes_args;

// The function table. A plugin's is longer, or shorter, as its `struct_size` says.
typedef struct {
  size_t struct_size;
  void *extension_start;
  struct {
    size_t struct_size;
    void *extension_start;
    int major_version, minor_version;
  } version;
  void (*error_destroy)(prefix_error_args *);
  void (*error_message)(prefix_message_args *);
  void *(*error_get_code)(void *);
  void *(*plugin_initialize)(prefix_initialize_args *);
  void *(*plugin_attributes)(prefix_attributes_args *);
} prefix_api;

#endif
