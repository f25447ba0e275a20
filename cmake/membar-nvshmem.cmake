# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The nvshmem component, whose target membar::nvshmem combines membar::membar and NVSHMEM. Both the source tree and the installed package
# include this file. If MEMBAR_NVSHMEM_ROOT is set as a CMake or environment variable, NVSHMEM must be in that folder. Otherwise this file
# looks for NVSHMEM's CMake package, then in the folder named by the environment variable NVSHMEM_HOME, and then in the active Python's
# site-packages, where the wheel nvidia-nvshmem-cu13 is installed.
#
# NVSHMEM's device code is a library, so a target that links membar::nvshmem must set CUDA_SEPARABLE_COMPILATION.

# Finds the header and the libraries below the given folders. Sets <prefix>_INCLUDE, <prefix>_DEVICE and <prefix>_HOST. A
# variable is false if its file was not found.
function(_membar_find_nvshmem_in prefix)
  set(below PATHS ${ARGN} NO_DEFAULT_PATH NO_CACHE)
  find_path(header nvshmem.h ${below} PATH_SUFFIXES include)
  find_file(device libnvshmem_device.a ${below} PATH_SUFFIXES lib lib64)
  # The wheel contains the library only under its SONAME.
  find_file(host NAMES libnvshmem_host.so libnvshmem_host.so.3 ${below} PATH_SUFFIXES lib lib64)
  set(${prefix}_INCLUDE ${header} PARENT_SCOPE)
  set(${prefix}_DEVICE ${device} PARENT_SCOPE)
  set(${prefix}_HOST ${host} PARENT_SCOPE)
endfunction()

# If NVSHMEM is found, defines membar::nvshmem and sets MEMBAR_NVSHMEM_WHERE to its location. Otherwise, sets MEMBAR_NVSHMEM_MISSING to a
# message.
function(_membar_add_nvshmem)
  if(TARGET membar::nvshmem)
    return()
  endif()
  # A folder that the user specifies takes precedence over an installed package.
  set(libraries "")
  set(folders ${MEMBAR_NVSHMEM_ROOT} $ENV{MEMBAR_NVSHMEM_ROOT})
  if(folders)
    set(looked_in "in MEMBAR_NVSHMEM_ROOT =")
    set(remedy "set it to the folder that contains NVSHMEM's include and lib folders, or unset it")
  else()
    find_package(NVSHMEM QUIET CONFIG)
    if(TARGET nvshmem::nvshmem_device AND TARGET nvshmem::nvshmem_host)
      set(libraries nvshmem::nvshmem_device nvshmem::nvshmem_host)
      set(where "its CMake package ${NVSHMEM_DIR}")
    else()
      set(looked_in "as a CMake package or in")
      set(remedy "install the wheel nvidia-nvshmem-cu13, or set MEMBAR_NVSHMEM_ROOT")
      set(folders $ENV{NVSHMEM_HOME})
      find_package(Python3 QUIET COMPONENTS Interpreter)
      if(Python3_Interpreter_FOUND)
        execute_process(COMMAND ${Python3_EXECUTABLE} -c
                          "import site, sysconfig; print(';'.join([sysconfig.get_path('purelib'), site.getusersitepackages()]))"
                        OUTPUT_VARIABLE sites OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        list(TRANSFORM sites APPEND /nvidia/nvshmem)
        list(APPEND folders ${sites})
      endif()
    endif()
  endif()
  if(NOT libraries)
    _membar_find_nvshmem_in(nvshmem ${folders})
    if(NOT nvshmem_INCLUDE OR NOT nvshmem_DEVICE OR NOT nvshmem_HOST)
      list(JOIN folders ", " looked)
      set(MEMBAR_NVSHMEM_MISSING "cannot find NVSHMEM ${looked_in} ${looked}: ${remedy}" PARENT_SCOPE)
      return()
    endif()
    set(libraries ${nvshmem_DEVICE} ${nvshmem_HOST})
    set(where ${nvshmem_INCLUDE})
  endif()

  add_library(membar_nvshmem INTERFACE IMPORTED GLOBAL)
  add_library(membar::nvshmem ALIAS membar_nvshmem)
  target_link_libraries(membar_nvshmem INTERFACE membar::membar ${libraries})
  if(nvshmem_INCLUDE)
    target_include_directories(membar_nvshmem SYSTEM INTERFACE ${nvshmem_INCLUDE})
  endif()
  # NVSHMEM's headers use features that are deprecated in C++20.
  target_compile_options(membar_nvshmem INTERFACE "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-diag-suppress=3012,3013>")
  set(MEMBAR_NVSHMEM_WHERE ${where} PARENT_SCOPE)
endfunction()
