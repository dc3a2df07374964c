// The part of the fault plugin that notes the options of clients, and that has memory statistics.
#ifndef LXLA_FAULT_OPTIONS_H
#define LXLA_FAULT_OPTIONS_H

#include "pjrt_c_api.h"

// Notes the options with which a client is created.
void note_options(const PJRT_Client_Create_Args *args);

// Whether an option is one of a test, which the real plugin does not know: its name begins with "test_".
int is_of_test(const PJRT_NamedValue *option);

// Gives a device the statistics that the test has ordered; else the real plugin's.
PJRT_Error *memory_stats(const PJRT_Api *real, PJRT_Device_MemoryStats_Args *args);

#endif
