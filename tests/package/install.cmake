# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cmake_minimum_required(VERSION 3.25)
# Installs the component `membar` into an empty prefix, and checks that only the headers and the package are
# installed.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} --component membar
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed RELATIVE ${PREFIX} ${PREFIX}/*)
set(strangers ${installed})
list(FILTER strangers EXCLUDE REGEX "^include/membar/.*\\.(hpp|cuh)$|^share/cmake/membar/membar[-a-z]*\\.cmake$|^share/licenses/membar/LICENSE$")
if(strangers)
  message(FATAL_ERROR "files were installed that do not belong to the package: ${strangers}")
endif()
foreach(file IN ITEMS include/membar/version.hpp include/membar/base/config.hpp share/cmake/membar/membar-config.cmake
                      share/licenses/membar/LICENSE)
  if(NOT file IN_LIST installed)
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
