# lazyxla-probe, which lxla_plugin_list runs to load each plugin in a process of its own. The library finds it in
# `lazyxla` beside itself, in the build tree as installed.
add_executable(lazyxla_probe probe/lazyxla_probe.c)
target_link_libraries(lazyxla_probe PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(lazyxla_probe PRIVATE -Wall -Wextra -Werror)
set_target_properties(lazyxla_probe PROPERTIES OUTPUT_NAME lazyxla-probe RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/lazyxla")
