# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The warnings membar compiles itself with. Never exported: a consumer's warnings are his own. They are errors where membar is tested: who
# only builds its programs has another compiler, which may warn of what is right. -Wpedantic does not pass through nvcc, whose generated
# code is not pedantic.
set(membar_host_warnings -Wall -Wextra -Wconversion -Wshadow)
set(membar_cuda_warnings "")
if(MEMBAR_BUILD_TESTS)
  list(APPEND membar_host_warnings -Werror)
  set(membar_cuda_warnings -Werror=all-warnings)
endif()
list(JOIN membar_host_warnings "," passed_on)
list(APPEND membar_cuda_warnings -Xcompiler=${passed_on})
list(APPEND membar_host_warnings -Wpedantic)

add_library(membar_warnings INTERFACE)
target_compile_options(membar_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${membar_host_warnings}>"
  # g++ 12 takes a text before a std::string for memory that overlaps itself: GCC bug 105651.
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>"
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:${membar_cuda_warnings}>")
