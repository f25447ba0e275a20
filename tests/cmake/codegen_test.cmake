# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Codegen tests: a kernel's PTX is matched by LLVM's FileCheck.
file(GLOB llvm_bin_dirs /usr/lib/llvm-*/bin /usr/local/opt/llvm*/bin /opt/homebrew/opt/llvm*/bin)
find_program(FILECHECK NAMES FileCheck FileCheck-20 FileCheck-19 FileCheck-18 FileCheck-17 FileCheck-16 FileCheck-15 FileCheck-14
             PATHS ${llvm_bin_dirs} DOC "LLVM's FileCheck, for the codegen tests")

# membar_add_codegen_test(<file.cu> ARCHITECTURES <arch>... [OPTIONS <nvcc option>...]): adds one test codegen.<file>.sm_<arch>
# per architecture, which compiles the file to PTX, matches the PTX against the directives in the file that have the prefixes
# CHECK and SM_<arch>, and assembles it. Pass a generated file with its full path. nvcc takes half a second to start and several
# seconds to read <cuda/atomic>, so prefer a few files with many kernels.
function(membar_add_codegen_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ARCHITECTURES;OPTIONS")
  cmake_path(GET file STEM LAST_ONLY stem)
  cmake_path(ABSOLUTE_PATH file)
  set(checker ${PROJECT_SOURCE_DIR}/tests/codegen/check_ptx.sh)
  foreach(architecture IN LISTS arg_ARCHITECTURES)
    set(name codegen.${stem}.sm_${architecture})
    if(FILECHECK)
      membar_add_result_test(${name} LABEL codegen
        COMMAND sh ${checker} ${FILECHECK} ${architecture} ${file} ${CMAKE_CURRENT_BINARY_DIR}/${stem}.sm_${architecture}.ptx
                ${membar_nvcc} ${arg_OPTIONS} @DEPFILE@
        DEPENDS ${checker} ${file})
    else()
      membar_add_skipped_test(${name} LABEL codegen "no FileCheck found: install LLVM's (Debian and Ubuntu: llvm-14-tools or newer), or set FILECHECK, and configure again")
    endif()
  endforeach()
endfunction()
