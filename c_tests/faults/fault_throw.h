// Throws a `std::runtime_error` of C++ with this text, from C.
#ifndef LXLA_FAULT_THROW_H
#define LXLA_FAULT_THROW_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((noreturn)) void fault_throw(const char *text);

#ifdef __cplusplus
}
#endif

#endif
