# Debian packages by cpack, from the rules of install.cmake: lazyxla and lazyxla-dev. tools/packages.sh makes them.
set(CPACK_PACKAGE_NAME lazyxla)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "lazyxla <lazyxla@localhost>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES FALSE)
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_COMPONENTS_ALL library development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME lazyxla)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# The libraries of C that it needs, by their versions; what needs this one gets a dependency on it.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Lazy tensors on XLA, as a shared library with a C ABI. It runs programs on PJRT plugins: that of a CPU is
fastatomstruct-xla-cpu of PyPI. LXLA_PJRT_PLUGIN names its file. Tensors on the host need none.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME lazyxla-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "lazyxla (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers for C and C++ of lazyxla, its CMake package and its pkg-config file, and the description of
its C API for generators of bindings.")

set(CPACK_COMPONENTS_GROUPING IGNORE)
include(CPack)
