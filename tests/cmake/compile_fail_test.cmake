# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compile-fail tests break each rule of the interface once.
#
# A file states its rules, each followed by the correct form, as
#   // expect: <what the compiler must say>
#   REFUSED(a_load_releases_nothing, n.load(membar::release));
#   n.load(membar::acquire);
# Without any RULE_ macro, the file must compile: this is the positive control. With a RULE_ macro, the file must not compile,
# and the error must contain the expected words. Where possible, tests/compile_fail/check_rules.py breaks all rules of a file
# together.
set(rule_lines "^ *// expect: [^\n]+\n *REFUSED\\([ \n]*([A-Za-z0-9_]+),")

# membar_add_compile_fail_tests(<file.cpp|file.cu> [ARCHITECTURE <arch>] [OPTIONS <option>...]): adds a test
# compile_fail.<file>.<rule> for each rule of the file, and compile_fail.<file>.control. A .cpp file is compiled by the host
# compiler, which is ten times faster than nvcc on a .cu file (device pass, sm_90 by default), so state rules of `.hpp` headers
# in a .cpp file.
function(membar_add_compile_fail_tests file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHITECTURE" "OPTIONS")
  cmake_path(GET file STEM LAST_ONLY stem)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  cmake_path(ABSOLUTE_PATH file)
  if(extension STREQUAL ".cu")
    if(NOT arg_ARCHITECTURE)
      set(arg_ARCHITECTURE 90)
    endif()
    set(compile ${membar_nvcc} -ptx -arch=sm_${arg_ARCHITECTURE} -o /dev/null ${arg_OPTIONS})
  else()
    set(compile ${membar_cxx} -fsyntax-only ${arg_OPTIONS})
  endif()

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "[][;]" "" text "${text}")  # special characters in lists
  string(REGEX MATCHALL "[^\n]*\n[^\n]*REFUSED\\([^,]*," stated "${text}")
  set(rules)
  foreach(rule IN LISTS stated)
    if(NOT rule MATCHES "${rule_lines}" OR CMAKE_MATCH_1 IN_LIST rules)
      message(FATAL_ERROR "${file}: expected '// expect: <words>' followed by 'REFUSED(<name>,' with a unique name, but found: ${rule}")
    endif()
    list(APPEND rules ${CMAKE_MATCH_1})
  endforeach()
  if(NOT rules)
    message(FATAL_ERROR "${file} states no rule")
  endif()
  if(NOT membar_python)
    membar_add_skipped_test(compile_fail.${stem} LABEL compile_fail "${membar_no_python}")
    return()
  endif()

  set(results ${CMAKE_CURRENT_BINARY_DIR}/${stem})
  set(checker ${PROJECT_SOURCE_DIR}/tests/compile_fail/check_rules.py)
  membar_record(${CMAKE_CURRENT_BINARY_DIR}/results/${stem}.txt LABEL compile_fail
    COMMAND ${membar_python} ${checker} $<$<BOOL:${MEMBAR_TEST_FULL}>:--each-alone> ${file} ${results} -- ${compile} -- @DEPFILE@
    DEPENDS ${checker} ${file} ${PROJECT_SOURCE_DIR}/tests/compile_fail/refused.hpp)
  foreach(rule IN ITEMS control ${rules})
    membar_read_result(compile_fail.${stem}.${rule} LABEL compile_fail ${results}/${rule}.txt)
  endforeach()
endfunction()
