# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# membar_embed_headers(<output.cpp> <header>...): writes a source file that defines the functions of kernel_headers.hpp and
# contains the given headers from include/ and the headers that they include. The command compiles tests with these texts at
# run time, when membar's sources may not be available.
function(membar_embed_headers output)
  set(entries "")
  set(pending ${ARGN})
  set(embedded)
  while(pending)
    list(POP_FRONT pending header)
    if(header IN_LIST embedded)
      continue()
    endif()
    list(APPEND embedded ${header})
    set(path ${PROJECT_SOURCE_DIR}/include/${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    # The text is read as a single string, because ";" and "[" have a special meaning in lists. A string literal may be up to 64
    # KiB long; the headers are far smaller.
    file(READ ${path} text)
    file(STRINGS ${path} includes REGEX "^#include <membar/")
    list(TRANSFORM includes REPLACE "^#include <([^>]+)>.*" "\\1")
    list(APPEND pending ${includes})
    if(text MATCHES "\\)membar_text\"")
      message(FATAL_ERROR "membar: ${path} contains the delimiter of the string literal that embeds it")
    endif()
    string(APPEND entries "    {\"${header}\", R\"membar_text(${text})membar_text\"},\n")
  endwhile()
  set(content "// Written by CMake from include/.
#include <litmus/kernel_headers.hpp>

namespace membar::litmus_files {

std::span<const header_text> kernel_headers() noexcept {
  static constexpr header_text headers[] = {
${entries}};
  return headers;
}

const char* toolkit_libraries() noexcept { return \"${CUDAToolkit_LIBRARY_DIR}\"; }

}  // namespace membar::litmus_files
")
  file(GENERATE OUTPUT ${output} CONTENT "${content}")
endfunction()
