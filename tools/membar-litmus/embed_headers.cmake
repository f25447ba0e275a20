# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# membar_embed_headers(<output> <header>...): writes a header whose array `litmus_command::kernel_headers` holds the texts of headers
# of include/, for a program that compiles at run time and may be far from the sources then.
function(membar_embed_headers output)
  set(entries "")
  foreach(header IN LISTS ARGN)
    set(path ${PROJECT_SOURCE_DIR}/include/${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    # Not read as a list: ";" and "[" have a meaning there. A string literal may be 64 KiB long, which these are far from.
    file(READ ${path} text)
    if(text MATCHES "\\)membar_text\"")
      message(FATAL_ERROR "membar: ${path} holds the delimiter of the literal that it is embedded in")
    endif()
    string(APPEND entries "    {\"${header}\", R\"membar_text(${text})membar_text\"},\n")
  endforeach()
  set(content "// Written by CMake from include/.
#pragma once

#include <membar-litmus/compile.hpp>

namespace litmus_command {

inline constexpr membar::litmus::header_text kernel_headers[] = {
${entries}};

/// Where the toolkit that this was built with has its libraries; empty without one.
inline constexpr const char* toolkit_libraries = \"${CUDAToolkit_LIBRARY_DIR}\";

}  // namespace litmus_command
")
  file(GENERATE OUTPUT ${output} CONTENT "${content}")
endfunction()
