# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Enables CUDA if there is a toolkit, even if nvcc is not on the PATH. Without a toolkit, only the parts that do not require one
# are built.
include(CheckLanguage)

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  _membar_find_cuda_toolkit()
  if(CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "The CUDA compiler")
  endif()
endif()
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
else()
  message(STATUS "membar: no CUDA compiler found (set CUDACXX to name one): the tests of device headers, the GPU tests, the "
                 "examples and the GPU benchmarks are left out; the vocabulary, the memory model and the host tests are built")
endif()
_membar_find_cuda_toolkit()
