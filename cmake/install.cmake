# Installs the library with its links, its debug file, its probe, headers, a CMake package and a pkg-config file, all
# relocatable.
include(CMakePackageConfigHelpers)

install(FILES "${LAZYXLA_STRIPPED}" "${CMAKE_BINARY_DIR}/lib/${LAZYXLA_SONAME}" "${CMAKE_BINARY_DIR}/lib/liblazyxla.so"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(TARGETS lazyxla_probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/lazyxla)
install(FILES "${LAZYXLA_DEBUG}" DESTINATION ${CMAKE_INSTALL_LIBDIR}/.debug COMPONENT debug)
install(FILES include/lazyxla.h include/lazyxla.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/lazyxla DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/lazyxla)

configure_package_config_file(cmake/lazyxlaConfig.cmake.in "${CMAKE_BINARY_DIR}/package/lazyxlaConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazyxla
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/lazyxlaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/lazyxlaConfig.cmake" "${CMAKE_BINARY_DIR}/package/lazyxlaConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lazyxla)

# From the .pc file's own folder to the prefix, so that the tree can be moved.
file(RELATIVE_PATH LAZYXLA_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/lazyxla.pc.in "${CMAKE_BINARY_DIR}/package/lazyxla.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/package/lazyxla.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
