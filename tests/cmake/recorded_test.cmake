# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests that are build steps. Tests that compile or build something do so once, while the project is built, and again only after one of
# their input files has changed. The test reads the recorded result.
find_program(MEMBAR_CAT cat DOC "Prints a file, for the tests that read recorded results")
if(MEMBAR_CAT)
  set(membar_cat ${MEMBAR_CAT})
else()
  set(membar_cat ${CMAKE_COMMAND} -E cat)
endif()

# A dependency for tests that read pages, results or sources from anywhere in the repository, or that look for their tools when
# they run: a file that is newer than all these files, than the list of them, and than the state of the tools when the project
# was configured.
set(patterns)
foreach(folder IN ITEMS bench cmake docs examples include tests tools)
  foreach(ending IN ITEMS c* def h* in js* litmus md png py s* t*)  # except the files that Python compiles
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/${folder}/*.${ending})
  endforeach()
endforeach()
file(GLOB_RECURSE membar_every_file CONFIGURE_DEPENDS ${patterns} ${PROJECT_SOURCE_DIR}/tests/model/corpus/*)
file(GLOB top_files LIST_DIRECTORIES false CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/* ${PROJECT_SOURCE_DIR}/.ci/*)
list(APPEND membar_every_file ${top_files})
list(FILTER membar_every_file EXCLUDE REGEX "/\\.git$")
list(JOIN membar_every_file "\n" every_file)
set(membar_every_file_stamp ${PROJECT_BINARY_DIR}/tests/every_file.stamp)
set(tools "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}\n${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}\n${MEMBAR_NVRTC}\n${CLANG_FORMAT}\n${membar_python} ${Python3_VERSION}\ngpu: ${membar_has_gpu}\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tests/every_file.txt CONTENT "${every_file}\n${tools}" @ONLY)
add_custom_command(OUTPUT ${membar_every_file_stamp}
  COMMAND ${CMAKE_COMMAND} -E touch ${membar_every_file_stamp}
  DEPENDS ${membar_every_file} ${PROJECT_BINARY_DIR}/tests/every_file.txt COMMENT "" VERBATIM)
add_custom_target(membar_every_file DEPENDS ${membar_every_file_stamp})

# membar_read_result(<name> LABEL <label> <file>): adds the test <name>, which passes, fails or is skipped according to the
# first line of the file.
function(membar_read_result name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "")
  add_test(NAME ${name} COMMAND ${membar_cat} ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} PASS_REGULAR_EXPRESSION "^PASSED" SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
endfunction()

# membar_record(<result> LABEL <kind> COMMAND <command>... [DEPENDS <file>...]): adds a build step that runs the command and
# writes its outcome to the file <result>. In the command, @DEPFILE@ is replaced by the options that make a compiler write the
# list of files that it has read.
function(membar_record result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "COMMAND;DEPENDS")
  set(depfile)
  if("@DEPFILE@" IN_LIST arg_COMMAND)
    set(depfile DEPFILE ${result}.d)
    # nvcc would preprocess the file once more for the list. If there is only one pass, its preprocessor can write the list.
    set(options "-MMD;-MF;${result}.d;-MT;${result}")
    if(CMAKE_CUDA_COMPILER AND CMAKE_CUDA_COMPILER IN_LIST arg_COMMAND AND NOT "-c" IN_LIST arg_COMMAND)
      set(options "-Xcompiler=-MMD,-MF,${result}.d,-MT,${result}")
    endif()
    list(TRANSFORM arg_COMMAND REPLACE "^@DEPFILE@$" "${options}")
  endif()
  cmake_path(GET result PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  set(recorder ${PROJECT_SOURCE_DIR}/tests/cmake/record.sh)
  cmake_path(RELATIVE_PATH result BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE shown)
  add_custom_command(OUTPUT ${result}
    COMMAND sh ${recorder} ${result} ${arg_COMMAND}
    DEPENDS ${recorder} ${arg_DEPENDS} ${depfile}
    COMMENT "Recording ${shown}" COMMAND_EXPAND_LISTS VERBATIM)

  get_property(results DIRECTORY PROPERTY membar_results)
  if(NOT results)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _membar_add_recording_target ${arg_LABEL})")
  endif()
  set_property(DIRECTORY APPEND PROPERTY membar_results ${result})
endfunction()

# One target for all results in a directory, which is part of the default build.
function(_membar_add_recording_target kind)
  get_property(results DIRECTORY PROPERTY membar_results)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  add_custom_target(membar_results_${folder} ALL DEPENDS ${results})
  add_dependencies(membar_results_${folder} membar_every_file)
  membar_need_for_kind(${kind} membar_results_${folder})
endfunction()

# membar_record_unittests(<kind>.<group> LABEL <kind> SCRIPT <script> RULES <class>... [ENVIRONMENT <variable>=<value>...]
# [DEPENDS <file>...]): adds such a build step for the classes of a Python test script, and a test <kind>.<group>.<class in
# lower case> for each class.
function(membar_record_unittests group)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;SCRIPT" "RULES;ENVIRONMENT;DEPENDS")
  cmake_path(ABSOLUTE_PATH arg_SCRIPT)
  set(results ${CMAKE_CURRENT_BINARY_DIR}/${group}_results)
  set(runner ${PROJECT_SOURCE_DIR}/tests/cmake/record_unittests.py)
  membar_record(${CMAKE_CURRENT_BINARY_DIR}/results/${group}.txt LABEL ${arg_LABEL}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${arg_ENVIRONMENT} ${Python3_EXECUTABLE} ${runner} ${results} ${arg_SCRIPT} ${arg_RULES}
    DEPENDS ${runner} ${arg_SCRIPT} ${arg_DEPENDS})
  foreach(rule IN LISTS arg_RULES)
    string(TOLOWER ${rule} rule)
    membar_read_result(${group}.${rule} LABEL ${arg_LABEL} ${results}/${rule}.txt)
  endforeach()
endfunction()

# membar_add_result_test(<name> LABEL <kind> COMMAND <command>... [DEPENDS <file>...]): adds such a build step and its test.
function(membar_add_result_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "COMMAND;DEPENDS")
  set(result ${CMAKE_CURRENT_BINARY_DIR}/results/${name}.txt)
  membar_record(${result} LABEL ${arg_LABEL} COMMAND ${arg_COMMAND} DEPENDS ${arg_DEPENDS})
  membar_read_result(${name} LABEL ${arg_LABEL} ${result})
endfunction()
