# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Codegen tests: what a kernel becomes in PTX, matched by LLVM's FileCheck. This file is both the function and the test it adds.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  if(NOT FILECHECK)
    message("SKIPPED: no FileCheck found: install LLVM's (Debian and Ubuntu: llvm-14-tools or newer), or set FILECHECK, and configure again")
    return()
  endif()
  execute_process(COMMAND ${NVCC} -ptx -arch=sm_${ARCHITECTURE} -o ${PTX} ${SOURCE} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${SOURCE} does not compile for sm_${ARCHITECTURE}")
  endif()
  execute_process(COMMAND ${FILECHECK} --check-prefixes=CHECK,SM_${ARCHITECTURE} --allow-unused-prefixes=true
                          --input-file=${PTX} ${SOURCE} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the PTX for sm_${ARCHITECTURE} is not what ${SOURCE} says; see ${PTX}")
  endif()
  execute_process(COMMAND ${NVCC} -cubin -arch=sm_${ARCHITECTURE} -o ${PTX}.cubin ${PTX} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the PTX for sm_${ARCHITECTURE} does not assemble; see ${PTX}")
  endif()
  file(STRINGS ${SOURCE} kernels REGEX "^// CHECK-LABEL: ")
  list(LENGTH kernels count)
  message("${count} kernels are what ${SOURCE} says")
  return()
endif()

file(GLOB llvm_bin_dirs /usr/lib/llvm-*/bin /usr/local/opt/llvm*/bin /opt/homebrew/opt/llvm*/bin)
find_program(FILECHECK NAMES FileCheck FileCheck-20 FileCheck-19 FileCheck-18 FileCheck-17 FileCheck-16 FileCheck-15 FileCheck-14
             PATHS ${llvm_bin_dirs} DOC "LLVM's FileCheck, for the codegen tests")

# membar_add_codegen_test(<file.cu> ARCHITECTURES <arch>... [OPTIONS <nvcc option>...]): for each architecture one test
# codegen.<file>.sm_<arch>, which compiles the file to PTX, matches it with the file's own lines of the prefixes CHECK and
# SM_<arch>, and assembles it. The file may be a generated one, with its full path. nvcc takes seconds per start, so prefer few files with many kernels.
function(membar_add_codegen_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ARCHITECTURES;OPTIONS")
  cmake_path(GET file STEM LAST_ONLY stem)
  cmake_path(ABSOLUTE_PATH file)
  set(nvcc ${membar_nvcc} ${arg_OPTIONS})
  foreach(architecture IN LISTS arg_ARCHITECTURES)
    set(name codegen.${stem}.sm_${architecture})
    add_test(NAME ${name}
      COMMAND ${CMAKE_COMMAND} "-DNVCC=${nvcc}" -DFILECHECK=${FILECHECK} -DARCHITECTURE=${architecture}
              -DSOURCE=${file} -DPTX=${CMAKE_CURRENT_BINARY_DIR}/${stem}.sm_${architecture}.ptx
              -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    set_tests_properties(${name} PROPERTIES LABELS codegen SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
  endforeach()
endfunction()
