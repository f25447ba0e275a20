# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The libraries membar_include_hash and membar_tools_hash contain the functions include_hash() and tools_hash() of
# include_hash.hpp. Every measurement records the hash of the headers it was made with; a measurement of a tool also records the
# hash of the tools' sources.
include_guard(GLOBAL)
block()
find_package(Python3 3.8 COMPONENTS Interpreter QUIET)
foreach(folder IN ITEMS include tools)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${folder}_hash.cpp)
  if(Python3_Interpreter_FOUND)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*)
    list(FILTER files EXCLUDE REGEX "/__pycache__/")
    add_custom_command(OUTPUT ${source}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/include_hash.py ${PROJECT_SOURCE_DIR}/${folder} ${source}
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/include_hash.py ${files} VERBATIM)
  else()
    file(WRITE ${source} "namespace support { const char* ${folder}_hash() noexcept { return \"unknown: no Python found\"; } }\n")
  endif()
  add_library(membar_${folder}_hash STATIC ${source})
endforeach()
endblock()
