# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests and examples that are programs. A test that needs a GPU uses it exclusively: all such tests hold the same lock.

# Optimization of code that runs in tests. Code that runs for seconds is compiled with -Og, which takes g++ half as long as -O1.
# Code that searches for longer is optimized, and uses vector instructions for its threads' clocks. Code that runs for
# milliseconds is not optimized, which takes a third less time than -O1. For large units, g++ takes an eighth less time if its
# garbage collector does not start before 1 GB. g++ 12 warns about std::string's own code at low optimization levels.
set(membar_large_units)
set(membar_quick_options)
set(membar_brief_options)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang$")
  set(membar_quick_options -O1)
  set(membar_brief_options -O0)
endif()
set(membar_search_options ${membar_quick_options})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(membar_large_units --param=ggc-min-heapsize=1000000)
  set(membar_brief_options -O0 ${membar_large_units})
  set(membar_quick_options -Og -Wno-array-bounds -Wno-stringop-overflow ${membar_large_units})
  set(membar_search_options -O1 -ftree-loop-vectorize -Wno-array-bounds -Wno-stringop-overflow ${membar_large_units})
endif()

# membar_build_for_tests(<target>... [SEARCHES]): compiles libraries that the tools link, with warnings. In a build with tests,
# unless everything is tested, they are compiled in one unit with little optimization, or with more optimization if the target
# has SEARCHES. A build without tests compiles them as in a release.
function(membar_build_for_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SEARCHES" "" "")
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    target_link_libraries(${target} PRIVATE membar_warnings)
    if(MEMBAR_BUILD_TESTS AND NOT MEMBAR_TEST_FULL)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      if(arg_SEARCHES)
        target_compile_options(${target} PRIVATE ${membar_search_options})
      else()
        target_compile_options(${target} PRIVATE ${membar_quick_options})
      endif()
    endif()
  endforeach()
endfunction()

# membar_need_for_kind(<kind> [<target>...]): makes the target membar_<kind> build the dependencies of that kind's tests;
# <kind>_tests also runs them.
function(membar_need_for_kind kind)
  if(NOT TARGET membar_${kind})
    add_custom_target(membar_${kind})
    add_custom_target(${kind}_tests
      COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR} -L "^${kind}$" -j 4 --output-on-failure --no-tests=error
      DEPENDS membar_${kind} USES_TERMINAL VERBATIM)
  endif()
  if(ARGN)
    add_dependencies(membar_${kind} ${ARGN})
  endif()
endfunction()

# membar_add_skipped_test(<name> LABEL <label>[;<label>...] <reason>): adds a test whose only purpose is to report why other
# tests are missing.
function(membar_add_skipped_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "")
  list(GET arg_LABEL 0 kind)
  membar_need_for_kind(${kind})
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${arg_UNPARSED_ARGUMENTS}")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
endfunction()

# membar_compile_test_program(<target> [SEARCHES]): sets the compile options of a test program in plain C++. A target that
# SEARCHES is optimized; if everything is tested, all targets are. GoogleTest and large standard headers are precompiled once
# for all programs of each kind.
function(membar_compile_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SEARCHES" "" "")
  if(arg_SEARCHES AND NOT MEMBAR_TEST_FULL)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${membar_search_options}>)
    target_precompile_headers(${target} REUSE_FROM membar_search_common)
  else()
    target_precompile_headers(${target} REUSE_FROM membar_test_common)
  endif()
endfunction()

# membar_one_unit(<result> <file.cu>...): returns a source that includes the files, because most of the compile time goes into
# the headers that they share.
function(membar_one_unit result)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"\n")
  list(JOIN ARGN "" text)
  file(CONFIGURE OUTPUT ${result} CONTENT "${text}" @ONLY)
endfunction()

# membar_add_unit_test(<name> <source.cpp>... [ONE_UNIT] [SEARCHES] [RECORDED [READS <file>...]]): adds a GoogleTest program
# that runs on the host. Each TEST is a test with the label `unit` or <label>. With ONE_UNIT the sources are compiled together;
# with SEARCHES they are optimized. With RECORDED, a build step runs all tests, and runs them again only if the program or one
# of its READS files has changed; the tests then read the recorded results.
function(membar_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_UNIT;RECORDED;SEARCHES" "LABEL" "READS")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(${name} PRIVATE membar::membar membar_warnings)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${arg_ONE_UNIT} UNITY_BUILD_BATCH_SIZE 0)
  set(searches)
  if(arg_SEARCHES)
    set(searches SEARCHES)
  endif()
  membar_compile_test_program(${name} ${searches})
  if(NOT arg_RECORDED)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    membar_need_for_kind(${arg_LABEL} ${name})
    gtest_discover_tests(${name} TEST_PREFIX ${arg_LABEL}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${arg_LABEL})
    return()
  endif()
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:membar_test_common>)
  target_link_libraries(${name} PRIVATE GTest::gtest)
  set(results ${CMAKE_CURRENT_BINARY_DIR}/${name}_results)
  set(recorder ${PROJECT_SOURCE_DIR}/tests/cmake/record_group.sh)
  add_custom_command(OUTPUT ${results}/finished
    COMMAND sh ${recorder} 1800 ${results} $<TARGET_FILE:${name}>
    DEPENDS ${recorder} ${name} ${arg_READS}
    COMMENT "Recording the tests of ${name}" VERBATIM)
  add_custom_target(${name}_recorded ALL DEPENDS ${results}/finished)
  add_dependencies(${name}_recorded membar_every_file)
  membar_need_for_kind(${arg_LABEL} ${name}_recorded)
  membar_read_group(${name} ${arg_LABEL} "LABELS \"${arg_LABEL}\"")
endfunction()

# membar_read_group(<name> <kind> <properties>): adds the tests <kind>.<TEST> of a program with tests/common/recording_main.cpp;
# they read the results in <name>_results. When the program is linked, it writes the list of its tests.
function(membar_read_group name kind properties)
  set(results ${CMAKE_CURRENT_BINARY_DIR}/${name}_results)
  set(rules ${CMAKE_CURRENT_BINARY_DIR}/${name}_rules.cmake)
  add_custom_command(TARGET ${name} POST_BUILD COMMAND ${name} --write-ctest=${rules} VERBATIM)
  configure_file(${PROJECT_SOURCE_DIR}/tests/cmake/recorded_rules.cmake.in ${name}_recorded_rules.cmake @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_recorded_rules.cmake)
endfunction()

# Without a GPU, programs that need one would only skip their tests, so their sources are only checked, unless everything is
# tested. To build the program for another machine, as for a release, name its target.
if(EXISTS /dev/nvidiactl OR MEMBAR_TEST_FULL OR "$ENV{MEMBAR_REQUIRE_GPU}")
  set(membar_has_gpu ON)
else()
  set(membar_has_gpu OFF)
endif()
set(membar_no_gpu "no GPU was found when the project was configured: the program was compiled by the device pass, and not built")

# The device pass stops after its front end or, with an older nvcc, does not optimize.
set(membar_device_front_end $<IF:$<VERSION_GREATER_EQUAL:${CMAKE_CUDA_COMPILER_VERSION},13.0>,-fdevice-syntax-only,-Xcicc=-O0>)

# CUDA C++ programs that run no device code.
set(membar_cuda_of_host_programs)
if(NOT MEMBAR_TEST_FULL)
  set(membar_cuda_of_host_programs ${membar_device_front_end})
  if(membar_large_units AND NOT CMAKE_CUDA_HOST_COMPILER)  # nvcc then also calls g++
    list(JOIN membar_large_units "," passed_on)
    list(APPEND membar_cuda_of_host_programs -Xcompiler=${passed_on})
  endif()
endif()

# membar_check_sources(<program> <kind>): compiles the program's sources without optimization, CUDA sources with the front end
# of the device pass, which also parses and instantiates host code. The program itself is built only if its target is named. The
# sources of a kind are compiled together where possible, because most of the time goes into the headers that they share.
function(membar_check_sources program kind)
  set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  get_property(known GLOBAL PROPERTY membar_programs_${kind})
  if(NOT known)
    string(REGEX MATCH "^${PROJECT_SOURCE_DIR}/[a-z]+" part ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY ${part} CALL _membar_check_programs ${kind})")
  endif()
  set_property(GLOBAL APPEND PROPERTY membar_programs_${kind} ${program})
endfunction()

# membar_can_be_joined(<result> <program> <source>...): returns whether the sources can be in one unit with others: they are in
# CUDA C++, they include the same files in each configuration, they include no file that is itself a unit, and the program has
# no compile options of its own.
function(membar_can_be_joined result program)
  set(${result} OFF PARENT_SCOPE)
  get_target_property(definitions ${program} COMPILE_DEFINITIONS)
  get_target_property(relocatable ${program} CUDA_SEPARABLE_COMPILATION)
  if(definitions OR relocatable)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    if(NOT source MATCHES "\\.cu$")
      return()
    endif()
    file(STRINGS ${source} lines REGEX "^ *# *(if|endif|include)")
    set(depth 0)
    foreach(line IN LISTS lines)
      if(line MATCHES "^ *# *include" AND (depth GREATER 0 OR line MATCHES "\\.cu[\">]"))
        return()
      elseif(line MATCHES "^ *# *if")
        math(EXPR depth "${depth} + 1")
      elseif(line MATCHES "^ *# *endif")
        math(EXPR depth "${depth} - 1")
      endif()
    endforeach()
  endforeach()
  set(${result} ON PARENT_SCOPE)
endfunction()

# membar_joined_unit(<file> <source>...): writes a unit that includes the sources' headers, followed by each source in its own
# namespace, in which lookup in the namespaces that the source opens works as before.
function(membar_joined_unit unit)
  set(includes)
  set(bodies "")
  set(opened_by_any "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET source STEM stem)
    file(STRINGS ${source} lines REGEX "^(# *include|namespace [a-z_]+ {)")
    set(opened "")
    foreach(line IN LISTS lines)
      if(line MATCHES "^namespace ([a-z_]+) {")
        string(APPEND opened "namespace ${CMAKE_MATCH_1} { using namespace ::${CMAKE_MATCH_1}; }\n")
        string(APPEND opened_by_any "namespace ${CMAKE_MATCH_1} {}\n")
      elseif(line MATCHES "\"(.*)\"" AND EXISTS ${folder}/${CMAKE_MATCH_1})
        list(APPEND includes "#include \"${folder}/${CMAKE_MATCH_1}\"")
      elseif(line MATCHES "([<\"].*[>\"])")
        list(APPEND includes "#include ${CMAKE_MATCH_1}")
      endif()
    endforeach()
    string(APPEND bodies "namespace unit_${stem} {\n${opened}#include \"${source}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  file(CONFIGURE OUTPUT ${unit} CONTENT "${includes}\n${opened_by_any}${bodies}" @ONLY)
endfunction()

# Adds the targets that compile the sources of a kind's programs. Call this after all programs have their properties.
function(_membar_check_programs kind)
  get_property(programs GLOBAL PROPERTY membar_programs_${kind})
  set(joined)
  set(libraries)
  foreach(program IN LISTS programs)
    get_target_property(sources ${program} SOURCES)
    get_target_property(directory ${program} SOURCE_DIR)
    list(FILTER sources EXCLUDE REGEX "^\\$")  # generator expressions that name objects
    set(relative ${sources})
    set(sources)
    foreach(source IN LISTS relative)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory})
      list(APPEND sources ${source})
    endforeach()
    membar_can_be_joined(together ${program} ${sources})
    if(together AND NOT MEMBAR_TEST_FULL)
      list(APPEND joined ${sources})
      get_target_property(of_program ${program} LINK_LIBRARIES)
      list(APPEND libraries ${of_program})
    else()
      _membar_add_checked_sources(${program}_sources ${kind} ${sources})
      target_compile_definitions(${program}_sources PRIVATE $<TARGET_PROPERTY:${program},COMPILE_DEFINITIONS>)
      target_link_libraries(${program}_sources PRIVATE $<TARGET_PROPERTY:${program},LINK_LIBRARIES>)
      target_compile_options(${program}_sources PRIVATE $<$<BOOL:$<TARGET_PROPERTY:${program},CUDA_SEPARABLE_COMPILATION>>:-rdc=true>)
    endif()
  endforeach()
  set(number 0)
  set(units)
  while(joined)
    list(SUBLIST joined 0 12 sources)
    list(REMOVE_ITEM joined ${sources})
    set(unit ${PROJECT_BINARY_DIR}/joined/${kind}_${number}.cu)
    membar_joined_unit(${unit} ${sources})
    list(APPEND units ${unit})
    math(EXPR number "${number} + 1")
  endwhile()
  if(units)
    list(REMOVE_DUPLICATES libraries)
    _membar_add_checked_sources(${kind}_sources ${kind} ${units})
    target_link_libraries(${kind}_sources PRIVATE ${libraries})
  endif()
endfunction()

function(_membar_add_checked_sources target kind)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES 90-virtual)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tools)
  target_compile_options(${target} PRIVATE $<IF:$<COMPILE_LANGUAGE:CUDA>,${membar_device_front_end},-O0>)
  if(NOT kind STREQUAL "bench")  # The kind bench has no tests.
    membar_need_for_kind(${kind} ${target})
  endif()
endfunction()

# membar_add_gpu_test(<name> <source>... [MULTI_GPU] [CONCURRENT] [LIBRARIES <target>...] [TIMEOUT <s>]): adds a GoogleTest
# program that uses tests/common/gpu_test.hpp, whose fixtures skip if there is no GPU (or no pair of peers). Each TEST is a test
# with the label `gpu` or `multi_gpu`, and also with `concurrent` if two kernels, or a kernel and a host thread, must run at
# once. The test <kind>.run.<name> runs all of them in one process, because starting CUDA takes half a second, and the others
# read the recorded results. A test that destroys CUDA's context needs its own process: use EXPECT_EXIT with the death-test
# style "threadsafe".
function(membar_add_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MULTI_GPU;CONCURRENT" "TIMEOUT" "LIBRARIES")
  set(kind gpu)
  if(arg_MULTI_GPU)
    set(kind multi_gpu)
  endif()
  set(labels ${kind})
  if(arg_CONCURRENT)
    list(APPEND labels concurrent)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS} $<TARGET_OBJECTS:membar_test_common>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE membar::membar membar_warnings GTest::gtest ${arg_LIBRARIES})
  set(runner ${kind}.run.${name})
  if(NOT membar_has_gpu)
    membar_check_sources(${name} ${kind})
    membar_add_skipped_test(${runner} LABEL "${labels}" "${membar_no_gpu}")
    return()
  endif()
  membar_need_for_kind(${kind} ${name})
  set(results ${CMAKE_CURRENT_BINARY_DIR}/${name}_results)
  add_test(NAME ${runner} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/cmake/run_group.sh ${arg_TIMEOUT} ${results} $<TARGET_FILE:${name}>)
  math(EXPR timeout "${arg_TIMEOUT} + 30")
  set_tests_properties(${runner} PROPERTIES LABELS "${labels}" FIXTURES_SETUP ${runner} RESOURCE_LOCK gpu TIMEOUT ${timeout})
  membar_read_group(${name} ${kind} "LABELS \"${labels}\" FIXTURES_REQUIRED \"${runner}\"")
endfunction()

# membar_add_example(<name> [CONCURRENT] [LIBRARIES <target>...]): builds <name>.cu and runs it as a test with the label
# `examples`. An example prints its result and exits with 0. If the machine lacks the feature that the example demonstrates, it
# prints "SKIPPED: <reason>" and exits with 77.
function(membar_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONCURRENT" "" "LIBRARIES")
  set(labels examples)
  if(arg_CONCURRENT)
    list(APPEND labels concurrent)
  endif()
  add_executable(example_${name} ${name}.cu)
  target_link_libraries(example_${name} PRIVATE membar::membar membar_warnings ${arg_LIBRARIES})
  if(NOT membar_has_gpu)
    membar_check_sources(example_${name} examples)
    membar_add_skipped_test(examples.${name} LABEL "${labels}" "${membar_no_gpu}")
    return()
  endif()
  membar_need_for_kind(examples example_${name})
  add_test(NAME examples.${name} COMMAND example_${name})
  set_tests_properties(examples.${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu TIMEOUT 300)
endfunction()
