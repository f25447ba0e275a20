# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Header tests: every public header can be included on its own, and in every translation unit of a program.

# membar_plain_includes(<result> <file>): returns the files that a plain C++ compiler includes from the file. It leaves out the
# text between `#if defined(__CUDACC__)` and the matching `#else` or `#endif`. Every other condition counts as true.
function(membar_plain_includes result file)
  file(STRINGS ${file} lines REGEX "^ *# *(include|if|else|elif|endif)")
  set(found)
  set(depth 0)  # the current depth of conditions
  set(left_out 0)  # The depth of the condition that a plain compiler does not satisfy.
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *# *if")
      math(EXPR depth "${depth} + 1")
      if(NOT left_out AND line MATCHES "^ *# *if +defined\\(__CUDACC__\\) *$")
        set(left_out ${depth})
      endif()
    elseif(line MATCHES "^ *# *include *[<\"]([^>\"]+)")
      if(NOT left_out)
        list(APPEND found ${CMAKE_MATCH_1})
      endif()
    else()
      if(left_out EQUAL depth)
        set(left_out 0)
      endif()
      if(line MATCHES "^ *# *endif")
        math(EXPR depth "${depth} - 1")
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# membar_plain_headers(<result> <header>...): returns the given headers (relative to include/) whose includes do not lead to the
# CUDA toolkit or NVSHMEM. The headers are classified when the project is configured, so a header that becomes plain, or stops
# being plain, is reclassified only then.
function(membar_plain_headers result)
  set(root ${PROJECT_SOURCE_DIR}/include)
  file(GLOB_RECURSE every RELATIVE ${root} ${root}/membar/*.hpp ${root}/membar/*.cuh)
  foreach(header IN LISTS every)
    membar_plain_includes(includes_of_${header} ${root}/${header})
  endforeach()
  set(found)
  foreach(header IN LISTS ARGN)
    set(seen)
    set(pending ${header})
    while(pending)
      list(POP_FRONT pending next)
      if(NOT next IN_LIST seen)
        list(APPEND seen ${next})
        list(APPEND pending ${includes_of_${next}})
      endif()
    endwhile()
    if(NOT seen MATCHES "(^|;)(cuda|nvshmem|driver_types)")
      list(APPEND found ${header})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# membar_header_that_shows(<result> <header> <header>...): returns the header whose test unit begins with the text of the first
# given header, because its first directive after `#pragma once` includes that header, directly or indirectly. If there is no
# such header, returns the first given header itself.
function(membar_header_that_shows result header)
  set(shown_by ${header})
  set(searched TRUE)
  while(searched)
    set(searched FALSE)
    foreach(other IN LISTS ARGN)
      if(NOT DEFINED first_of_${other})
        file(STRINGS ${PROJECT_SOURCE_DIR}/include/${other} first_of_${other} REGEX "^ *#" LIMIT_COUNT 2)
      endif()
      if(first_of_${other} STREQUAL "#pragma once;#include <${shown_by}>")
        set(shown_by ${other})
        set(searched TRUE)
        break()
      endif()
    endforeach()
  endwhile()
  set(${result} ${shown_by} PARENT_SCOPE)
endfunction()

# Defines a suite of header tests: each header is included twice in its own translation unit, and one unit includes all of them.
# Without ALONE, there is only the unit that includes all headers. With LINK, a program is linked from two copies of that unit's
# object, so a function without `inline` is defined twice. The results for the headers in SHOWN come from a suite of stricter
# tests: SHOWN_BY is the name of the result, and contains <header>. If a header's first directive includes another header, its
# unit also tests that other header, unless everything is tested.
function(membar_add_header_suite suite)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SUFFIX;SHOWN_BY" "HEADERS;ALONE;OBJECT;LINK;LIBRARIES;SHOWN")
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${suite})
  set(everything "")
  set(compiled)
  if(NOT MEMBAR_TEST_FULL)
    set(compiled ${arg_HEADERS})
    list(REMOVE_ITEM compiled "" ${arg_SHOWN})
  endif()
  foreach(header IN LISTS arg_HEADERS ITEMS membar/everything)
    string(REGEX REPLACE "^membar/" "" short ${header})
    set(unit ${dir}/${short}${arg_SUFFIX})
    if(short STREQUAL "everything")
      set(content "${everything}")
      set(compile ${arg_OBJECT} -o ${unit}.o)
    else()
      set(content "#include <${header}>\n#include <${header}>\n")
      set(compile ${arg_ALONE})
      string(APPEND everything "#include <${header}>\n")
      if(header IN_LIST arg_SHOWN)
        set(shows ${header})
        if(NOT MEMBAR_TEST_FULL)
          membar_header_that_shows(shows ${header} ${arg_SHOWN})  # as in the stricter suite
        endif()
        string(REGEX REPLACE "^membar/" "" shows ${shows})
        string(REPLACE "<header>" ${shows} shown_by ${arg_SHOWN_BY})
        membar_read_result(headers.${suite}.${short} LABEL headers ${CMAKE_CURRENT_BINARY_DIR}/results/${shown_by}.txt)
        continue()
      elseif(NOT arg_ALONE)
        continue()
      endif()
      membar_header_that_shows(shows ${header} ${compiled})
      if(NOT shows STREQUAL header)
        string(REGEX REPLACE "^membar/" "" shows ${shows})
        membar_read_result(headers.${suite}.${short} LABEL headers ${CMAKE_CURRENT_BINARY_DIR}/results/headers.${suite}.${shows}.txt)
        continue()
      endif()
    endif()
    file(CONFIGURE OUTPUT ${unit} CONTENT "${content}" @ONLY)
    membar_add_result_test(headers.${suite}.${short} LABEL headers COMMAND ${compile} @DEPFILE@ ${unit} DEPENDS ${unit})
  endforeach()
  if(arg_LINK)
    file(CONFIGURE OUTPUT ${dir}/main.cpp CONTENT "int main() {}\n" @ONLY)
    membar_add_result_test(headers.${suite}.linked LABEL headers
      COMMAND sh -c "cp $1 $2 && shift 2 && \"$@\"" - ${unit}.o ${unit}.copy.o ${arg_LINK} ${dir}/main.cpp ${unit}.o ${unit}.copy.o
              ${arg_LIBRARIES} -o ${dir}/linked
      DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/results/headers.${suite}.everything.txt)
  endif()
endfunction()

# membar_add_header_tests([EXCLUDE <regex>]): tests every header of include/membar except those in base/ and detail/ and those
# that EXCLUDE matches (because a dependency is not installed). The suffix determines the compilers. The host compiler compiles
# `.hpp` headers as C++20 and as C++23, and nvcc compiles `.hpp` and `.cuh` headers. If everything is tested, the C++23 tests
# compile the headers one by one. Plain headers must compile without the CUDA toolkit.
function(membar_add_header_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "EXCLUDE" "")
  set(root ${PROJECT_SOURCE_DIR}/include)
  file(GLOB_RECURSE host RELATIVE ${root} CONFIGURE_DEPENDS ${root}/membar/*.hpp)
  file(GLOB_RECURSE device RELATIVE ${root} CONFIGURE_DEPENDS ${root}/membar/*.cuh)
  foreach(headers IN ITEMS host device)
    list(FILTER ${headers} EXCLUDE REGEX "^membar/(base|detail)/")
    if(arg_EXCLUDE)
      list(FILTER ${headers} EXCLUDE REGEX "${arg_EXCLUDE}")
    endif()
  endforeach()
  membar_plain_headers(plain ${host})

  membar_add_header_suite(plain SUFFIX .cpp HEADERS ${plain} ALONE ${membar_cxx} -H -fsyntax-only
    OBJECT ${membar_cxx} -H -c LINK ${CMAKE_CXX_COMPILER})
  list(TRANSFORM plain REPLACE "^membar/" "headers.plain." OUTPUT_VARIABLE names)
  # -H lists the included files; the toolkit may also be on the compiler's own path.
  set_tests_properties(${names} PROPERTIES FAIL_REGULAR_EXPRESSION "/(cuda|cuda_runtime|cuda_runtime_api|driver_types)\\.h")
  if(CUDAToolkit_FOUND)
    set(toolkit -isystem ${CUDAToolkit_INCLUDE_DIRS})
    membar_add_header_suite(cxx20 SUFFIX .cpp HEADERS ${host} SHOWN_BY headers.plain.<header> SHOWN ${plain} ALONE ${membar_cxx} ${toolkit} -fsyntax-only
      OBJECT ${membar_cxx} ${toolkit} -c
      LINK ${CMAKE_CXX_COMPILER} LIBRARIES $<TARGET_FILE:CUDA::cudart_static> -ldl -lrt -lpthread)
    set(alone)
    if(MEMBAR_TEST_FULL)
      set(alone ALONE ${membar_cxx} -std=c++23 ${toolkit} -fsyntax-only)
    endif()
    membar_add_header_suite(cxx23 SUFFIX .cpp HEADERS ${host} ${alone}
      OBJECT ${membar_cxx} -std=c++23 ${toolkit} -c)
  else()
    list(REMOVE_ITEM host ${plain})
    list(JOIN host " " without)
    membar_add_skipped_test(headers.cxx LABEL headers "these headers need the CUDA toolkit, which was not found: ${without}")
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    membar_add_skipped_test(headers.cuda LABEL headers "no CUDA compiler found to read the headers as CUDA C++20")
    return()
  endif()
  # Including a header instantiates nothing, so PTX for one architecture is enough. Each header is compiled by itself in the
  # device pass, which also parses host code, and in both passes if everything is tested. For a `.hpp` header that does not
  # depend on the compiler, the text is the same in both. Unless everything is tested, it is compiled by itself as C++, and as
  # CUDA together with all others.
  foreach(header IN LISTS host)
    file(STRINGS ${root}/${header} asks REGEX "^ *# *(el)?if.*__CUDA" LIMIT_COUNT 1)
    if(asks)
      list(APPEND device ${header})
    elseif(NOT MEMBAR_TEST_FULL)
      list(APPEND one_text ${header})
    endif()
  endforeach()
  set(both_passes ${membar_nvcc} -gencode arch=compute_90,code=compute_90 -c)
  set(passes ${membar_nvcc} ${membar_device_front_end} -ptx -arch=compute_90)
  if(MEMBAR_TEST_FULL)
    set(passes ${both_passes})
  endif()
  list(APPEND host ${device})
  list(REMOVE_DUPLICATES host)
  membar_add_header_suite(cuda SUFFIX .cu HEADERS ${host} SHOWN_BY headers.cuda.everything SHOWN ${one_text}
    ALONE ${passes} -o /dev/null OBJECT ${passes})
  # Code that differs between passes and architectures.
  membar_add_header_suite(device SUFFIX .cu HEADERS ${device} OBJECT ${both_passes} LINK ${membar_nvcc} -arch=sm_90)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/device/everything.cu)
  set(architectures 75 120)
  if(MEMBAR_TEST_FULL)
    set(architectures 75 80 100 120)
  endif()
  foreach(architecture IN LISTS architectures)
    membar_add_result_test(headers.device.everything.sm_${architecture} LABEL headers
      COMMAND ${membar_nvcc} -cubin -arch=sm_${architecture} -o /dev/null @DEPFILE@ ${unit} DEPENDS ${unit})
  endforeach()
endfunction()
