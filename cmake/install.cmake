# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `cmake --install <build> --component membar` installs only the headers and the CMake package.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/membar)
configure_package_config_file(cmake/membar-config.cmake.in membar-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(membar-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(TARGETS membar EXPORT membar-targets FILE_SET HEADERS COMPONENT membar)
install(EXPORT membar-targets NAMESPACE membar:: DESTINATION ${package_dir} COMPONENT membar)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/membar-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/membar-config-version.cmake
              cmake/membar-check.cmake cmake/membar-recorded-test.cmake cmake/membar-cuda.cmake cmake/membar-nvshmem.cmake
        DESTINATION ${package_dir} COMPONENT membar)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/membar COMPONENT membar)
