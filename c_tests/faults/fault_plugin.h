// Control of the fault-injecting plugin, found by dlsym in the loaded plugin.
#ifndef LXLA_FAULT_PLUGIN_H
#define LXLA_FAULT_PLUGIN_H

enum {
  FAULT_FAIL = 1,     // the call fails at once and does nothing
  FAULT_LATER = 2,    // an execute or a transfer starts, and fails through its events
  FAULT_HOLD = 3,     // the call waits until fault_let_go, then goes on
  FAULT_CONSUME = 4,  // an execute deletes its first argument, then fails at once
};

// The nth call from now (1 is the next; 0: none) of this function, without its PJRT_ prefix, behaves so; `code` is the
// error's. What frees a thing frees it also when it fails.
typedef void fault_arm_fn(const char *function, int nth, int mode, int code);
// Every call of this function fails with `code` until this is called with code 0.
typedef void fault_refuse_fn(const char *function, int code);
// The functions that can be armed, by number; NULL beyond the last.
typedef const char *fault_name_fn(int index);
// What the library has yet to free: clients, executables, buffers, events, planted errors.
typedef int fault_alive_fn(void);
// What is held goes on.
typedef void fault_let_go_fn(void);
// How many calls are held now.
typedef int fault_held_fn(void);
// How often the function was called so far.
typedef int fault_calls_fn(const char *function);

#endif
