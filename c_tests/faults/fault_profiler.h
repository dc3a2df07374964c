// The part of the fault plugin that simulates the profiler extension, which CPU plugins do not have.
#ifndef LXLA_FAULT_PROFILER_H
#define LXLA_FAULT_PROFILER_H

#include "pjrt_c_api.h"

// Returns the start of a list of extensions: ours, then those of the real plugin.
PJRT_Extension_Base *extensions_before(PJRT_Extension_Base *real);

#endif
