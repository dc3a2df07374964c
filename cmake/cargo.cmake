# The library, built by cargo: target lazyxla::lazyxla. Cargo itself knows what is stale, so it is always asked.
find_program(CARGO cargo REQUIRED)
set(LAZYXLA_CARGO_TARGET "${PROJECT_SOURCE_DIR}/target" CACHE PATH "cargo's target folder")
set(LAZYXLA_LIBRARY_PACKAGE "lazyxla-c" CACHE STRING "Package that makes the library: lazyxla-c, or lazyxla-xla-rs with one more engine")
string(REGEX REPLACE "-c$" "" lazyxla_crate "${LAZYXLA_LIBRARY_PACKAGE}")
string(REPLACE "-" "_" lazyxla_crate "${lazyxla_crate}")
set(LAZYXLA_SONAME "liblazyxla.so.${PROJECT_VERSION_MAJOR}")
set(LAZYXLA_CARGO_PROFILE "release" CACHE STRING "cargo's profile: release, or dev, which builds faster and checks more")
string(REPLACE "dev" "debug" lazyxla_profile_folder "${LAZYXLA_CARGO_PROFILE}")
set(lazyxla_built "${LAZYXLA_CARGO_TARGET}/${lazyxla_profile_folder}/lib${lazyxla_crate}.so")
set(lazyxla_cargo_env "CARGO_TARGET_DIR=${LAZYXLA_CARGO_TARGET}")
# For another processor, cargo builds for the target of Rust's that fits, and links with CMake's compiler.
if(CMAKE_CROSSCOMPILING)
  set(LAZYXLA_CARGO_TRIPLE "${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu" CACHE STRING "Rust's name of the target")
  set(lazyxla_built "${LAZYXLA_CARGO_TARGET}/${LAZYXLA_CARGO_TRIPLE}/${lazyxla_profile_folder}/lib${lazyxla_crate}.so")
  string(TOUPPER "${LAZYXLA_CARGO_TRIPLE}" lazyxla_triple)
  string(REPLACE "-" "_" lazyxla_triple "${lazyxla_triple}")
  set(lazyxla_cargo_target --target ${LAZYXLA_CARGO_TRIPLE})
  list(APPEND lazyxla_cargo_env "CARGO_TARGET_${lazyxla_triple}_LINKER=${CMAKE_C_COMPILER}")
endif()
set(LAZYXLA_LIBRARY "${PROJECT_BINARY_DIR}/lib/liblazyxla.so.${PROJECT_VERSION}")

# The installed library has no debug sections; they are in a file of their own, which debuggers find in .debug/ beside
# it.
set(LAZYXLA_STRIPPED "${PROJECT_BINARY_DIR}/stripped/liblazyxla.so.${PROJECT_VERSION}")
set(LAZYXLA_DEBUG "${LAZYXLA_STRIPPED}.debug")
if(NOT CMAKE_OBJCOPY)
  message(FATAL_ERROR "objcopy not found: install binutils")
endif()

# Copied under its full version, with the two customary links, so that programs run from the build tree as installed.
add_custom_target(lazyxla_cargo ALL
  COMMAND ${CMAKE_COMMAND} -E env ${lazyxla_cargo_env} ${CARGO} build --profile ${LAZYXLA_CARGO_PROFILE} --lib --package ${LAZYXLA_LIBRARY_PACKAGE} ${lazyxla_cargo_target}
  COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/lib"
  COMMAND ${CMAKE_COMMAND} -E copy_if_different "${lazyxla_built}" "${LAZYXLA_LIBRARY}"
  COMMAND ${CMAKE_COMMAND} -E create_symlink "liblazyxla.so.${PROJECT_VERSION}" "${PROJECT_BINARY_DIR}/lib/${LAZYXLA_SONAME}"
  COMMAND ${CMAKE_COMMAND} -E create_symlink "${LAZYXLA_SONAME}" "${PROJECT_BINARY_DIR}/lib/liblazyxla.so"
  COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/stripped"
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug "${lazyxla_built}" "${LAZYXLA_DEBUG}"
  COMMAND ${CMAKE_OBJCOPY} --strip-unneeded "--add-gnu-debuglink=${LAZYXLA_DEBUG}" "${lazyxla_built}" "${LAZYXLA_STRIPPED}"
  BYPRODUCTS "${LAZYXLA_LIBRARY}" "${LAZYXLA_STRIPPED}" "${LAZYXLA_DEBUG}"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "cargo build --profile ${LAZYXLA_CARGO_PROFILE}"
  VERBATIM)

add_library(lazyxla SHARED IMPORTED GLOBAL)
set_target_properties(lazyxla PROPERTIES
  IMPORTED_LOCATION "${LAZYXLA_LIBRARY}"
  IMPORTED_SONAME "${LAZYXLA_SONAME}"
  INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
add_dependencies(lazyxla lazyxla_cargo)
add_library(lazyxla::lazyxla ALIAS lazyxla)
