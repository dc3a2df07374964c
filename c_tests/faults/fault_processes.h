// The part of the fault plugin that simulates one of several processes.
#ifndef LXLA_FAULT_PROCESSES_H
#define LXLA_FAULT_PROCESSES_H

#include "pjrt_c_api.h"

#define EXPORT __attribute__((visibility("default")))

// Returns an error of the fault plugin, with a copy of the message.
PJRT_Error *new_error_of(PJRT_Error_Code code, const char *message, size_t size);
// Frees an error of this plugin.
void free_error(PJRT_Error *error);

// Creates a client of the real plugin. With the option node_id, first makes the calls of the key-value store that the
// test has requested. Neither the options of processes, which the real plugin may not know, nor the callbacks are
// passed on.
PJRT_Error *create_as_process(const PJRT_Api *real, PJRT_Client_Create_Args *args);

// Returns the option node_id of a client; -1 if it was created without it.
int process_of(const PJRT_Client *client);

#endif
