# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# membar_include_hash: the function include_hash() of machine_context.hpp. Every measurement names the headers it was made with.
include_guard(GLOBAL)
block()
find_package(Python3 3.8 COMPONENTS Interpreter QUIET)
set(source ${CMAKE_CURRENT_BINARY_DIR}/include_hash.cpp)
if(Python3_Interpreter_FOUND)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*)
  add_custom_command(OUTPUT ${source}
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/include_hash.py ${PROJECT_SOURCE_DIR}/include ${source}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/include_hash.py ${headers} VERBATIM)
else()
  file(WRITE ${source} "namespace support { const char* include_hash() noexcept { return \"unknown: no Python found\"; } }\n")
endif()
add_library(membar_include_hash STATIC ${source})
endblock()
