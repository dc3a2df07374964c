// Control of the fault-injecting plugin, found by dlsym in the loaded plugin.
#ifndef LXLA_FAULT_PLUGIN_H
#define LXLA_FAULT_PLUGIN_H

enum {
  FAULT_FAIL = 1,     // the call fails at once and does nothing
  FAULT_LATER = 2,    // an execute or a transfer starts, and fails through its events
  FAULT_HOLD = 3,     // the call waits until fault_let_go, then goes on
  FAULT_CONSUME = 4,  // an execute deletes its first argument, then fails at once
};

// Makes the nth call from now (1: the next; 0: none) of this function, named without its PJRT_ prefix, behave according
// to `mode`, with the error `code`. Functions that free an object free it even when they fail.
typedef void fault_arm_fn(const char *function, int nth, int mode, int code);
// Names the device whose outputs FAULT_LATER spoils, or whose argument FAULT_CONSUME deletes, if an execute runs on
// several: its position in the argument lists, 0 at first.
typedef void fault_device_fn(int position);
// Makes every call of this function fail with `code`, until this is called with code 0.
typedef void fault_refuse_fn(const char *function, int code);
// Returns the name of the function with this number that can be armed; NULL beyond the last.
typedef const char *fault_name_fn(int index);
// Returns the number of objects that the library has yet to free: clients, executables, buffers, events, planted
// errors.
typedef int fault_alive_fn(void);
// Lets held calls continue.
typedef void fault_let_go_fn(void);
// Returns the number of calls held now.
typedef int fault_held_fn(void);
// Returns the number of calls of the function so far.
typedef int fault_calls_fn(const char *function);

#endif
