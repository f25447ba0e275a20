# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The settings that membar's CUDA headers need in a consumer's build. Both the source tree and the installed package include this file, so
# add_subdirectory, FetchContent and find_package have the same effect. The settings are not exported, because they depend on the machine
# where the package is used, not on the machine where it was built.

# Requires CUDA C++20. Older versions of CMake do not support C++20 for CUDA, although nvcc does. With them, CUDA_STANDARD would
# silently compile C++17, so the compiler flag is passed directly.
function(_membar_require_cuda_cxx20 target)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} INTERFACE $<BUILD_INTERFACE:cuda_std_20>)
  else()
    target_compile_options(${target} INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>>)
  endif()
endfunction()

# Finds the toolkit. If a project requires CMake 3.25 or newer, CMake 3.25's FindCUDAToolkit fails with CUDA 12.9 and later, which no longer
# contain nvToolsExt. Therefore this function sets an older required version in its own scope.
function(_membar_find_cuda_toolkit)
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit QUIET)
  foreach(result IN ITEMS FOUND VERSION INCLUDE_DIRS LIBRARY_DIR NVCC_EXECUTABLE)
    set(CUDAToolkit_${result} ${CUDAToolkit_${result}} PARENT_SCOPE)
  endforeach()
endfunction()

# _membar_add_cuda_usage(<target> <dir>): adds the settings to <target>. A consumer may enable CUDA after it has found membar. Unless CUDA is
# already enabled, the decision about the language standard is therefore deferred to the end of <dir>.
function(_membar_add_cuda_usage target directory)
  if(DEFINED CMAKE_CUDA_COMPILE_FEATURES)
    _membar_require_cuda_cxx20(${target})
  else()
    # EVAL expands ${target} now; a deferred call would expand it only when it runs.
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${directory}]] CALL _membar_require_cuda_cxx20 ${target})")
  endif()

  # The `.hpp` headers call the CUDA runtime, which nvcc links by itself. If the host compiler links the target, the following
  # code adds the library that nvcc would choose. If nvcc links the target, it adds nothing, so that the program contains only
  # one runtime.
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
