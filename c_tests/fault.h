// The fault plugin, for a test.
#ifndef LXLA_FAULT_H
#define LXLA_FAULT_H

#include "check.h"
#include "fault_plugin.h"

#include <dlfcn.h>

static void *fault_function(const char *name) {
  void *plugin = dlopen(LXLA_FAULT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) FAIL("%s", dlerror());
  void *function = dlsym(plugin, name);
  if (!function) FAIL("%s", dlerror());
  return function;
}

#define FAULT(name) ((fault_##name##_fn *)(uintptr_t)fault_function("fault_" #name))

static inline lxla_env fault_env(void) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  return env;
}

#endif
