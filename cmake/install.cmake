# Installs the library with its links, its debug file, its probe, headers, a CMake package and a pkg-config file, all
# relocatable.
include(CMakePackageConfigHelpers)

# Components: `library` is what programs need to run, `development` what they need to be built.
install(FILES "${LAZYXLA_STRIPPED}" "${PROJECT_BINARY_DIR}/lib/${LAZYXLA_SONAME}"
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES "${PROJECT_BINARY_DIR}/lib/liblazyxla.so" DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS lazyxla_probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/lazyxla COMPONENT library)
# The default plugin, where the library looks for it: a component of its own of 274 MB, which `make install` adds.
install(FILES "${LAZYXLA_PLUGIN_FOLDER}/fastatomstruct_xla_cpu/libpjrt_cpu.so"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/lazyxla/fastatomstruct_xla_cpu COMPONENT plugin EXCLUDE_FROM_ALL)
# Looked for at the installation: pip may fill the folder after the build tree is configured.
install(CODE "
  file(GLOB described \"${LAZYXLA_PLUGIN_FOLDER}/fastatomstruct_xla_cpu-*.dist-info/METADATA\"
       \"${LAZYXLA_PLUGIN_FOLDER}/fastatomstruct_xla_cpu-*.dist-info/RECORD\")
  foreach(file IN LISTS described)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    file(INSTALL \"\${file}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lazyxla/\${folder}\")
  endforeach()" COMPONENT plugin EXCLUDE_FROM_ALL)
install(FILES "${LAZYXLA_DEBUG}" DESTINATION ${CMAKE_INSTALL_LIBDIR}/.debug COMPONENT debug)
install(FILES include/lazyxla.h include/lazyxla_short.h include/lazyxla.hpp include/lazyxla.json include/lazyxla.schema.json
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY include/lazyxla include/lazyxla_short DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# The Fortran module as source, for any compiler. Without Python, it is not written, and not installed.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  file(GLOB fortran_sources bindings/fortran/*.f90 tools/bindings/*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fortran_sources} include/lazyxla.json)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/package")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/bindings/fortran.py"
                  "${PROJECT_BINARY_DIR}/package/lazyxla.f90" COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${PROJECT_BINARY_DIR}/package/lazyxla.f90" DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lazyxla
          COMPONENT development)
endif()
# The guides, and what the header refers to.
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES bindings/fortran/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bindings/fortran COMPONENT development)
# The Go module, without what only its tests need.
install(DIRECTORY bindings/go DESTINATION ${CMAKE_INSTALL_DATADIR}/lazyxla COMPONENT development
        PATTERN "*_test.go" EXCLUDE PATTERN "store_ask.go" EXCLUDE PATTERN "internal" EXCLUDE)
# tools/packages.sh writes it: licences of the crates in the library.
install(FILES "${PROJECT_BINARY_DIR}/package/THIRD_PARTY_LICENSES.txt" OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/lazyxla COMPONENT library)
install(FILES LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/lazyxla COMPONENT library)

configure_package_config_file(cmake/lazyxlaConfig.cmake.in "${PROJECT_BINARY_DIR}/package/lazyxlaConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazyxla
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/lazyxlaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/lazyxlaConfig.cmake" "${PROJECT_BINARY_DIR}/package/lazyxlaConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazyxla COMPONENT development)

# From the .pc file's own folder to the prefix, so that the tree can be moved.
file(RELATIVE_PATH LAZYXLA_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/lazyxla.pc.in "${PROJECT_BINARY_DIR}/package/lazyxla.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/lazyxla.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

include(cmake/packages.cmake)
