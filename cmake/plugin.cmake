# With LAZYXLA_PLUGIN, the default CPU plugin in `lib/lazyxla` of the build tree, where a library of this tree looks for
# it: copied from LAZYXLA_PLUGIN_FOLDER if that has it, else installed by pip, checked by hash.
set(LAZYXLA_PLUGIN_FOLDER "${PROJECT_SOURCE_DIR}/build/plugins" CACHE PATH "Folder in which pip installed the plugin")
option(LAZYXLA_PLUGIN "Put the default CPU plugin (274 MB) beside the library in the build tree" OFF)
if(NOT LAZYXLA_PLUGIN)
  return()
endif()
set(lazyxla_plugin fastatomstruct_xla_cpu/libpjrt_cpu.so)
set(lazyxla_own_plugins "${PROJECT_BINARY_DIR}/lib/lazyxla")
set(lazyxla_requirement "${PROJECT_SOURCE_DIR}/tools/requirements/plugin.txt")
if(EXISTS "${LAZYXLA_PLUGIN_FOLDER}/${lazyxla_plugin}")
  add_custom_command(OUTPUT "${lazyxla_own_plugins}/${lazyxla_plugin}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${lazyxla_own_plugins}/fastatomstruct_xla_cpu"
    COMMAND ${CMAKE_COMMAND} -E copy "${LAZYXLA_PLUGIN_FOLDER}/${lazyxla_plugin}" "${lazyxla_own_plugins}/${lazyxla_plugin}"
    DEPENDS "${LAZYXLA_PLUGIN_FOLDER}/${lazyxla_plugin}"
    COMMENT "Copying the CPU plugin"
    VERBATIM)
else()
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_EXECUTABLE)
    message(FATAL_ERROR "LAZYXLA_PLUGIN is ON, and there is no Python 3 that installs the plugin: install one with pip "
      "(Debian: python3-pip), or name a folder that has ${lazyxla_plugin} by -DLAZYXLA_PLUGIN_FOLDER")
  endif()
  add_custom_command(OUTPUT "${lazyxla_own_plugins}/${lazyxla_plugin}"
    COMMAND ${Python3_EXECUTABLE} -m pip install --quiet --disable-pip-version-check --require-hashes
            --only-binary :all: --no-deps --upgrade --target "${lazyxla_own_plugins}" --requirement "${lazyxla_requirement}"
    # pip keeps the time of the file in the wheel, which may be older than the requirement.
    COMMAND ${CMAKE_COMMAND} -E touch "${lazyxla_own_plugins}/${lazyxla_plugin}"
    DEPENDS "${lazyxla_requirement}"
    COMMENT "Installing the CPU plugin by pip"
    VERBATIM)
  # An installation copies it from there.
  set(LAZYXLA_PLUGIN_FOLDER "${lazyxla_own_plugins}")
endif()
add_custom_target(lazyxla_plugin ALL DEPENDS "${lazyxla_own_plugins}/${lazyxla_plugin}")
add_dependencies(lazyxla lazyxla_plugin)
