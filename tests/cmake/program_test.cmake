# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests and examples that are programs. What needs a GPU runs alone on it: all such tests hold one lock.

# membar_add_skipped_test(<name> LABEL <label> <reason>): a test that only says why others are not here.
function(membar_add_skipped_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "")
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${arg_UNPARSED_ARGUMENTS}")
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
endfunction()

# membar_add_unit_test(<name> <source.cpp>...): a GoogleTest program of the host. Each TEST is a test of the label `unit`, or of <label>.
function(membar_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE membar::membar membar_warnings GTest::gtest_main)
  gtest_discover_tests(${name} TEST_PREFIX ${arg_LABEL}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${arg_LABEL})
endfunction()

# membar_add_gpu_test(<name> <source>... [MULTI_GPU] [CONCURRENT] [LABELS <label>...] [LIBRARIES <target>...] [TIMEOUT <s>]): a
# GoogleTest program for tests/common/gpu_test.hpp, whose fixtures skip where there is no GPU (or no pair of peers). Each TEST is
# a test of the label `gpu` or `multi_gpu`, and of `concurrent` where two kernels, or a kernel and a host thread, must run at once.
function(membar_add_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MULTI_GPU;CONCURRENT" "TIMEOUT" "LABELS;LIBRARIES")
  set(kind gpu)
  if(arg_MULTI_GPU)
    set(kind multi_gpu)
  endif()
  set(labels ${kind} ${arg_LABELS})
  if(arg_CONCURRENT)
    list(APPEND labels concurrent)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE membar::membar membar_warnings GTest::gtest_main ${arg_LIBRARIES})
  gtest_discover_tests(${name} TEST_PREFIX ${kind}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120
    PROPERTIES RESOURCE_LOCK gpu TIMEOUT ${arg_TIMEOUT})
  # The labels follow when ctest reads the discovered tests: gtest_discover_tests takes a list for several properties.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} @ONLY
    CONTENT "if(@name@_TESTS)\n  set_tests_properties(\${@name@_TESTS} PROPERTIES LABELS \"@labels@\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# membar_add_example(<name> [CONCURRENT] [LIBRARIES <target>...]): builds <name>.cu and runs it as a test of the label `examples`.
# An example shows its machine's answer and exits with 0, or prints "SKIPPED: <reason>" and exits with 77 where the machine
# lacks what it shows.
function(membar_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONCURRENT" "" "LIBRARIES")
  set(labels examples)
  if(arg_CONCURRENT)
    list(APPEND labels concurrent)
  endif()
  add_executable(example_${name} ${name}.cu)
  target_link_libraries(example_${name} PRIVATE membar::membar membar_warnings ${arg_LIBRARIES})
  add_test(NAME examples.${name} COMMAND example_${name})
  set_tests_properties(examples.${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu TIMEOUT 300)
endfunction()
