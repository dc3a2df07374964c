#include "fault_throw.h"

#include <stdexcept>

extern "C" void fault_throw(const char *text) { throw std::runtime_error(text); }
