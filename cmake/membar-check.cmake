# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets <result> to the path of membar-check: this build's command if there is one, otherwise the installed command. `function` is the
# calling function's name, which appears in error messages.
function(_membar_find_checker function result)
  if(TARGET membar-check)
    set(${result} $<TARGET_FILE:membar-check> PARENT_SCOPE)
    return()
  endif()
  find_program(MEMBAR_CHECK membar-check)
  if(NOT MEMBAR_CHECK)
    message(FATAL_ERROR "${function}: cannot find membar-check; install the component membar-tools, or set MEMBAR_CHECK to its path")
  endif()
  set(${result} ${MEMBAR_CHECK} PARENT_SCOPE)
endfunction()

# Sets <result> to the status in EXPECT, or to "verified" if EXPECT is empty, and <others> to the other statuses that membar-check prints.
function(_membar_expected_status function expect result others)
  set(known verified race violated hang uninitialised "out of bounds" undefined "gave up")
  if(NOT expect)
    set(expect verified)
  elseif(NOT expect IN_LIST known)
    message(FATAL_ERROR "${function}: EXPECT is '${expect}', but must be one of: ${known}")
  endif()
  set(${result} ${expect} PARENT_SCOPE)
  list(REMOVE_ITEM known ${expect})
  set(${others} ${known} error PARENT_SCOPE)
endfunction()

# Ends with an error if the caller, whose name is in `function`, was called with arguments other than those in `usage`. The caller has
# parsed its arguments with the prefix `arg`.
function(_membar_reject_unknown_arguments function usage)
  list(JOIN arg_UNPARSED_ARGUMENTS " " unknown)
  list(REMOVE_ITEM arg_KEYWORDS_MISSING_VALUES OPTIONS)  # no options, for example because a variable is empty
  if(NOT unknown STREQUAL "")
    message(FATAL_ERROR "${function}: unknown argument '${unknown}': the arguments are ${usage}")
  elseif(arg_KEYWORDS_MISSING_VALUES)
    list(GET arg_KEYWORDS_MISSING_VALUES 0 keyword)
    message(FATAL_ERROR "${function}: ${keyword} needs a value: the arguments are ${usage}")
  endif()
endfunction()

# membar_add_scenario_test(<name> <file.scenario> [EXPECT <status>] [OPTIONS <option>...]): adds a test that explores a scenario with
# membar-check, to which the options are passed.
# The test passes if the result is <status> (default: "verified"). If it fails, ctest names the actual status, and `ctest
# --output-on-failure` shows the report. It uses the command of this build or, if there is none, the installed command.
function(membar_add_scenario_test name scenario)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "EXPECT" "OPTIONS")
  _membar_reject_unknown_arguments(membar_add_scenario_test "<name> <file.scenario> [EXPECT <status>] [OPTIONS <option>...]")
  _membar_expected_status(membar_add_scenario_test "${arg_EXPECT}" expect others)
  _membar_find_checker(membar_add_scenario_test checker)
  get_filename_component(scenario ${scenario} ABSOLUTE)
  add_test(NAME ${name} COMMAND ${checker} ${arg_OPTIONS} ${scenario})
  # ctest's summary names the regular expression that made a test fail, and therefore the status. Without a PASS_REGULAR_EXPRESSION,
  # ctest also examines the exit status, which is 0 only for "verified".
  list(TRANSFORM others REPLACE ".+" "\t\\0\t")
  set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "${others}")
  if(NOT expect STREQUAL verified)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "\t${expect}\t")
  endif()
endfunction()

# membar_add_recorded_test(<name> COMMAND <program> [<argument>...] [KERNELS <regex>] [RECORDING <folder>] [EXPECT <status>]): adds a test
# that checks the kernels launched by a program. The test uses a recording in <folder> (default: recordings/<name> in the caller's source
# folder). The target <name>_recording makes a new recording on a machine with a GPU. If the recording is committed, the test does not need
# a GPU. Without a recording, the test makes one in the build folder; if it cannot, the test is skipped. <program> is a target or a path.
# The test passes if the status of every scenario is <status> (default: "verified").
function(membar_add_recorded_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KERNELS;RECORDING;EXPECT" "COMMAND")
  set(usage "<name> COMMAND <program> [<argument>...] [KERNELS <regex>] [RECORDING <folder>] [EXPECT <status>]")
  _membar_reject_unknown_arguments(membar_add_recorded_test "${usage}")
  if(NOT arg_COMMAND)
    message(FATAL_ERROR "membar_add_recorded_test: expected ${usage}")
  endif()
  _membar_expected_status(membar_add_recorded_test "${arg_EXPECT}" expect others)
  _membar_find_checker(membar_add_recorded_test checker)
  if(NOT arg_RECORDING)
    set(arg_RECORDING recordings/${name})
  endif()
  get_filename_component(arg_RECORDING ${arg_RECORDING} ABSOLUTE)
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(script ${CMAKE_COMMAND} "-DCHECKER=${checker}" "-DFOLDER=${arg_RECORDING}" "-DKERNELS=${arg_KERNELS}" "-DEXPECT=${expect}")
  set(run -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/membar-recorded-test.cmake -- ${program} ${arg_COMMAND})
  add_custom_target(${name}_recording COMMAND ${script} -DRECORD=ON ${run} USES_TERMINAL VERBATIM)
  add_test(NAME ${name} COMMAND ${script} "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/${name}_recording" ${run})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()
