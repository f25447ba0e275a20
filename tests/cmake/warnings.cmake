# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The warnings with which membar compiles itself. They are never exported: consumers choose their own warnings. They are errors
# only in builds with tests: users who only build membar's programs may have other compilers, which may warn about correct code.
# -Wpedantic is not passed through nvcc, because the code that nvcc generates does not satisfy it.
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
  # g++ 12 wrongly assumes that a string literal added before a std::string overlaps itself: GCC bug 105651.
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>"
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:${membar_cuda_warnings}>")
