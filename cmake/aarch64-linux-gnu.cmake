# Toolchain file for Linux on arm64 with Debian's cross compiler, and QEMU to run what is built:
#
#     cmake -S . -B build/arm64/tree -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(LAZYXLA_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
if(LAZYXLA_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${LAZYXLA_QEMU_AARCH64};-L;/usr/aarch64-linux-gnu")
endif()
