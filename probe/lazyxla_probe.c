// lazyxla-probe PLUGIN: loads a PJRT plugin and says what it is, for lxla_plugin_list, which runs this program once for
// each plugin: a plugin that hangs, crashes or ends the process does so here. Creates no client.
// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The answer goes to the standard output of the start, one line for each fact:
//
//   at STEP             what is done next: load, start, initialize, attributes
//   api MAJOR MINOR     the version of the PJRT C API
//   platform NAME       if the attributes tell it
//   error TEXT          why the plugin cannot be used
//   end                 the answer is complete
//
// The last step says where a plugin hung or crashed. What the plugin prints goes to standard error.
#define _GNU_SOURCE
#include "pjrt_prefix.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// File descriptor of the answer.
static int answer;

// Writes a line. Control characters of the text become spaces, and a long text is cut.
static void say(const char *word, const char *text, size_t size) {
  char line[4096];
  size_t length = (size_t)snprintf(line, sizeof line, "%s ", word);
  for (size_t i = 0; i < size && length < sizeof line - 1; i++)
    line[length++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
  line[length++] = '\n';
  if (write(answer, line, length) != (ssize_t)length) _exit(1);  // nobody listens
}

static void say_text(const char *word, const char *text) { say(word, text, strlen(text)); }

// Ends the process without the plugin's destructors, which may hang or crash.
static _Noreturn void end(void) {
  say_text("end", "");
  _exit(0);
}

static _Noreturn void fail(const char *text) {
  say_text("error", text);
  end();
}

static _Noreturn void fail_to_load(void) {
  const char *text = dlerror();
  fail(text ? text : "GetPjrtApi is null");
}

// Struct of arguments, followed by zeros for the fields that a newer plugin knows.
#define ARGUMENTS(type, name) \
  struct {                    \
    type fields;              \
    uint64_t room[16];        \
  } name = {{0}, {0}};        \
  name.fields.struct_size = api->version.minor_version > PREFIX_MINOR ? sizeof name : sizeof name.fields

// Whether the plugin's table has a function.
#define HAS(function) (api->struct_size >= offsetof(prefix_api, function) + sizeof api->function && api->function)

static _Noreturn void fail_with(const prefix_api *api, const char *function, void *error) {
  char text[4096];
  const char *message = "the plugin gave no message";
  size_t size = strlen(message);
  ARGUMENTS(prefix_message_args, args);
  args.fields.error = error;
  if (HAS(error_message)) {
    api->error_message(&args.fields);
    if (args.fields.message) message = args.fields.message, size = args.fields.message_size;
  }
  snprintf(text, sizeof text, "%s: %.*s", function, (int)(size < sizeof text ? size : sizeof text), message);
  fail(text);
}

static void initialize(const prefix_api *api) {
  if (!HAS(plugin_initialize)) fail("the plugin has no PJRT_Plugin_Initialize");
  ARGUMENTS(prefix_initialize_args, args);
  void *error = api->plugin_initialize(&args.fields);
  if (error) fail_with(api, "PJRT_Plugin_Initialize", error);
}

// Says the platform, which PJRT tells only of clients, if an attribute gives it away: XLA's plugins for GPUs have the
// version of CUDA or ROCm as an attribute.
static void look_for_platform(const prefix_api *api) {
  static const char *const platforms[][2] = {{"cuda_version", "cuda"}, {"rocm_version", "rocm"}};
  if (!HAS(plugin_attributes)) return;
  ARGUMENTS(prefix_attributes_args, args);
  if (api->plugin_attributes(&args.fields)) return;  // an error is not a reason not to use the plugin
  const char *at = (const char *)args.fields.attributes;
  for (size_t i = 0; i < args.fields.num_attributes; i++) {
    const prefix_named_value *attribute = (const prefix_named_value *)(const void *)at;
    for (size_t k = 0; k < sizeof platforms / sizeof *platforms; k++) {
      const char *name = platforms[k][0];
      if (attribute->name_size == strlen(name) && memcmp(attribute->name, name, strlen(name)) == 0)
        say_text("platform", platforms[k][1]);
    }
    // A newer plugin's struct is longer.
    at += attribute->struct_size > sizeof *attribute ? (attribute->struct_size + 7) / 8 * 8 : sizeof *attribute;
  }
}

static void probe(const char *path) {
  say_text("at", "load");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_to_load();
  const prefix_api *(*get)(void) = (const prefix_api *(*)(void))(uintptr_t)dlsym(library, "GetPjrtApi");
  if (!get) fail_to_load();
  say_text("at", "start");
  const prefix_api *api = get();
  if (!api) fail("its GetPjrtApi returned null");
  if (api->struct_size < offsetof(prefix_api, error_destroy)) fail("its function table is too short");
  char version[64];
  snprintf(version, sizeof version, "%d %d", api->version.major_version, api->version.minor_version);
  say_text("api", version);
  if (api->version.major_version != 0) return;  // the rest of the table is unknown
  say_text("at", "initialize");
  initialize(api);
  say_text("at", "attributes");
  look_for_platform(api);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: lazyxla-probe PLUGIN\nSays what a PJRT plugin is; lxla_plugin_list runs this program.\n");
    return 2;
  }
  // Ends with the thread that started it, and leaves no core file.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (answer < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  probe(argv[1]);
  end();
}
