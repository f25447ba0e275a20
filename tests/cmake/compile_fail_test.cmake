# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compile-fail tests: each rule of the interface, broken once. This file is both the function and the test it adds.
#
# A file states its rules as
#   #ifdef RULE_a_load_releases_nothing  // expect: <what the compiler must say>
#     n.load(membar::release);
#   #else
#     n.load(membar::acquire);
#   #endif
# Compiled without any RULE_ macro the file must compile: that is the positive control. With one, it must not, and the compiler's
# output must contain the expected words.
set(rule_line "^ *#ifdef +RULE_([A-Za-z0-9_]+) +// expect: .+$")

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  if(NOT RULE)
    execute_process(COMMAND ${COMPILE} ${SOURCE} RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "the positive control does not compile: ${SOURCE} without any rule broken")
    endif()
    return()
  endif()
  file(READ ${SOURCE} text)
  string(REGEX MATCH "#ifdef +RULE_${RULE} +// expect: ([^\n]+)" line "${text}")
  set(expected "${CMAKE_MATCH_1}")
  execute_process(COMMAND ${COMPILE} -DRULE_${RULE} ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed)
    message(FATAL_ERROR "the rule ${RULE} is broken and ${SOURCE} compiles")
  endif()
  string(FIND "${said}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the rule ${RULE} is broken, and the compiler does not say\n  ${expected}\nbut\n${said}")
  endif()
  return()
endif()

# membar_add_compile_fail_tests(<file.cpp|file.cu> [ARCHITECTURE <arch>] [OPTIONS <option>...]): a test compile_fail.<file>.<rule>
# for each rule of the file, after compile_fail.<file>.control. A .cpp is read by the host compiler, which is ten times faster than
# nvcc on a .cu (device pass, sm_90 unless told): state rules of `.hpp` headers in a .cpp.
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
  string(REGEX REPLACE "[][;]" "" text "${text}")  # which have a meaning in lists
  string(REGEX MATCHALL "[^\n]*RULE_[^\n]*" conditions "${text}")
  set(rules)
  foreach(condition IN LISTS conditions)
    if(NOT condition MATCHES "${rule_line}" OR CMAKE_MATCH_1 IN_LIST rules)
      message(FATAL_ERROR "${file}: not '#ifdef RULE_<name>  // expect: <words>', or a name used twice: ${condition}")
    endif()
    list(APPEND rules ${CMAKE_MATCH_1})
  endforeach()
  if(NOT rules)
    message(FATAL_ERROR "${file} states no rule")
  endif()

  foreach(rule IN ITEMS "" ${rules})
    set(name compile_fail.${stem}.${rule})
    if(rule STREQUAL "")
      set(name compile_fail.${stem}.control)
    endif()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DCOMPILE=${compile}" -DSOURCE=${file} -DRULE=${rule}
                                  -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    set_tests_properties(${name} PROPERTIES LABELS compile_fail FIXTURES_REQUIRED compile_fail.${stem})
  endforeach()
  set_tests_properties(compile_fail.${stem}.control PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP compile_fail.${stem})
endfunction()
