# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What membar's CUDA headers need from the build of a consumer. The source tree and the installed package include this file, so that
# add_subdirectory, FetchContent and find_package behave alike. None of it is exported, because the machine that builds a package must
# not decide for the machine that uses it.

# Requires CUDA C++20. Older versions of CMake do not support it although nvcc does; with them, CUDA_STANDARD would silently compile
# C++17, so this passes the flag.
function(_membar_require_cuda_cxx20 target)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} INTERFACE $<BUILD_INTERFACE:cuda_std_20>)
  else()
    target_compile_options(${target} INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>>)
  endif()
endfunction()

# Finds the toolkit. For projects that ask for CMake 3.25 or newer, FindCUDAToolkit of CMake 3.25 stops at CUDA 12.9 and newer, which
# have no nvToolsExt; so this function claims an older CMake, in its own scope.
function(_membar_find_cuda_toolkit)
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit QUIET)
  foreach(result IN ITEMS FOUND VERSION INCLUDE_DIRS LIBRARY_DIR NVCC_EXECUTABLE)
    set(CUDAToolkit_${result} ${CUDAToolkit_${result}} PARENT_SCOPE)
  endforeach()
endfunction()

# _membar_add_cuda_usage(<target> <dir>): a consumer may enable CUDA after finding membar, so the decision about the language is deferred
# to the end of <dir>, unless CUDA is already enabled.
function(_membar_add_cuda_usage target directory)
  if(DEFINED CMAKE_CUDA_COMPILE_FEATURES)
    _membar_require_cuda_cxx20(${target})
  else()
    # EVAL, because a deferred call would expand ${target} only when it runs.
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${directory}]] CALL _membar_require_cuda_cxx20 ${target})")
  endif()

  # The `.hpp` headers call the CUDA runtime. nvcc links it itself. For the host compiler, this adds the library that nvcc would choose for
  # the target, but only where nvcc does not link, so that the program has one runtime.
  _membar_find_cuda_toolkit()
  if(CUDAToolkit_FOUND)
    target_include_directories(${target} SYSTEM INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${CUDAToolkit_INCLUDE_DIRS}>>")
    set(chosen $<UPPER_CASE:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>>)
    set(shared $<OR:$<STREQUAL:${chosen},SHARED>,$<NOT:$<TARGET_EXISTS:CUDA::cudart_static>>>)
    set(runtime $<$<NOT:$<STREQUAL:${chosen},NONE>>:$<IF:${shared},CUDA::cudart,CUDA::cudart_static>>)
    target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:$<$<LINK_LANGUAGE:CXX>:${runtime}>>)
  endif()
endfunction()
