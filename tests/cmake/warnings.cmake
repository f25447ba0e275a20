# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The warnings membar compiles itself with. Never exported: a consumer's warnings are his own. -Wpedantic does not pass through
# nvcc, whose generated code is not pedantic.
set(membar_host_warnings -Wall -Wextra -Wconversion -Wshadow -Werror)
list(JOIN membar_host_warnings "," membar_cuda_warnings)
set(membar_cuda_warnings -Werror=all-warnings -Xcompiler=${membar_cuda_warnings})
list(APPEND membar_host_warnings -Wpedantic)

add_library(membar_warnings INTERFACE)
target_compile_options(membar_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${membar_host_warnings}>"
  "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:${membar_cuda_warnings}>")
