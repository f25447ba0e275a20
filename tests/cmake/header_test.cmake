# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Header tests: every public header can be included alone, and by every translation unit of a program.

# One suite of header tests: each header twice in a translation unit of its own, one unit with all of them, and a program linked
# of all those objects, in which every function is thus defined by two units: a missing `inline` does not link.
function(membar_add_header_suite suite)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SUFFIX" "HEADERS;COMPILE;LINK;LIBRARIES")
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${suite})
  set(everything "")
  set(objects)
  foreach(header IN LISTS arg_HEADERS ITEMS everything)
    if(header STREQUAL "everything")
      set(content "${everything}int main() {}\n")
    else()
      set(content "#include <membar/${header}>\n#include <membar/${header}>\n")
      string(APPEND everything "#include <membar/${header}>\n")
    endif()
    set(unit ${dir}/${header}${arg_SUFFIX})
    file(CONFIGURE OUTPUT ${unit} CONTENT "${content}" @ONLY)
    add_test(NAME headers.${suite}.${header} COMMAND ${arg_COMPILE} -c ${unit} -o ${unit}.o)
    set_tests_properties(headers.${suite}.${header} PROPERTIES LABELS headers FIXTURES_SETUP headers.${suite})
    list(APPEND objects ${unit}.o)
  endforeach()
  if(arg_LINK)
    add_test(NAME headers.${suite}.linked COMMAND ${arg_LINK} ${objects} ${arg_LIBRARIES} -o ${dir}/linked)
    set_tests_properties(headers.${suite}.linked PROPERTIES LABELS headers FIXTURES_REQUIRED headers.${suite})
  endif()
endfunction()

# membar_add_header_tests([PLAIN <regex>] [EXCLUDE <regex>]): tests every header of include/membar but those of detail/ and those
# that EXCLUDE matches (a header whose dependency is not installed). The suffix decides: `.hpp` with the host compiler as C++20
# and C++23 and with nvcc, `.cuh` with nvcc. Headers that PLAIN matches are plain C++: they must do
# without the CUDA toolkit.
function(membar_add_header_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PLAIN;EXCLUDE" "")
  set(root ${PROJECT_SOURCE_DIR}/include/membar)
  file(GLOB_RECURSE host RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*.hpp)
  file(GLOB_RECURSE device RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*.cuh)
  foreach(headers IN ITEMS host device)
    list(FILTER ${headers} EXCLUDE REGEX "^detail/")
    if(arg_EXCLUDE)
      list(FILTER ${headers} EXCLUDE REGEX "${arg_EXCLUDE}")
    endif()
  endforeach()
  set(plain ${host})
  list(FILTER plain INCLUDE REGEX "${arg_PLAIN}")
  set(cuda_host ${host})
  list(FILTER cuda_host EXCLUDE REGEX "${arg_PLAIN}")

  membar_add_header_suite(plain SUFFIX .cpp HEADERS ${plain} COMPILE ${membar_cxx} -H LINK ${CMAKE_CXX_COMPILER})
  list(TRANSFORM plain PREPEND headers.plain. OUTPUT_VARIABLE names)
  # -H lists what is included; the toolkit may be on the compiler's own path.
  set_tests_properties(${names} PROPERTIES FAIL_REGULAR_EXPRESSION "/(cuda|cuda_runtime|cuda_runtime_api|driver_types)\\.h")
  if(CUDAToolkit_FOUND)
    set(toolkit -isystem ${CUDAToolkit_INCLUDE_DIRS})
    membar_add_header_suite(cxx20 SUFFIX .cpp HEADERS ${host} COMPILE ${membar_cxx} ${toolkit}
      LINK ${CMAKE_CXX_COMPILER} LIBRARIES $<TARGET_FILE:CUDA::cudart_static> -ldl -lrt -lpthread)
    membar_add_header_suite(cxx23 SUFFIX .cpp HEADERS ${host} COMPILE ${membar_cxx} -std=c++23 ${toolkit})
  else()
    list(JOIN cuda_host " " without)
    membar_add_skipped_test(headers.cxx LABEL headers "no CUDA toolkit found, which these headers need: ${without}")
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    membar_add_skipped_test(headers.cuda LABEL headers "no CUDA compiler found to read the headers as CUDA C++20")
    return()
  endif()
  # Nothing here is instantiated, so PTX for one architecture is enough, and quick.
  membar_add_header_suite(cuda SUFFIX .cu HEADERS ${host} ${device}
    COMPILE ${membar_nvcc} -gencode arch=compute_90,code=compute_90 LINK ${membar_nvcc} -arch=sm_90)
  foreach(architecture IN ITEMS 75 80 100 120)
    add_test(NAME headers.cuda.everything.sm_${architecture}
      COMMAND ${membar_nvcc} -cubin -arch=sm_${architecture} ${CMAKE_CURRENT_BINARY_DIR}/cuda/everything.cu
              -o ${CMAKE_CURRENT_BINARY_DIR}/cuda/everything.sm_${architecture}.cubin)
    set_tests_properties(headers.cuda.everything.sm_${architecture} PROPERTIES LABELS headers)
  endforeach()
endfunction()
