# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the bench fence_interference and draws its report. The target fence_report calls
#   cmake -DMEMBAR_BENCH=<exe> -DMEMBAR_REPORT=<report.py> -DMEMBAR_OUTPUT_DIR=<dir>
#         [-DMEMBAR_RECORDED=<json>] [-DMEMBAR_BENCH_ARGS=<arguments>] [-DMEMBAR_PUBLISHER=<exe>] -P fence_report.cmake
#         [-DMEMBAR_REPORT_ARGS=<arguments>]
# Without Python, only the bench's tables, JSON and CSV are written.
cmake_minimum_required(VERSION 3.23)

foreach(variable IN ITEMS MEMBAR_BENCH MEMBAR_REPORT MEMBAR_OUTPUT_DIR)
  if("${${variable}}" STREQUAL "")
    message(FATAL_ERROR "fence_report: ${variable} is not set; pass -D${variable}=<path>")
  elseif(NOT "${variable}" STREQUAL "MEMBAR_OUTPUT_DIR" AND NOT EXISTS "${${variable}}")
    message(FATAL_ERROR "fence_report: ${variable} is ${${variable}}, which does not exist; build the target fence_report again")
  endif()
endforeach()

get_filename_component(output "${MEMBAR_OUTPUT_DIR}" ABSOLUTE)
file(MAKE_DIRECTORY "${output}")

# These options come first. Files that an earlier run left here must not be mistaken for this run's result.
function(measure bench json)
  file(REMOVE "${json}")
  get_filename_component(name "${bench}" NAME)
  message(STATUS "fence_report: measuring with ${name}, which takes a few minutes on a GPU")
  execute_process(COMMAND "${bench}" "--benchmark_out=${json}" --benchmark_out_format=json ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "fence_report: ${bench} failed (${result}); see its message above; no report was written")
  endif()
endfunction()

set(results "${output}/fence_interference")
file(REMOVE "${results}.csv")
separate_arguments(bench_arguments UNIX_COMMAND "${MEMBAR_BENCH_ARGS}")
measure("${MEMBAR_BENCH}" "${results}.json" "--csv=${results}.csv" ${bench_arguments})
set(options --input "${results}.json" --output-dir "${output}")
if(MEMBAR_PUBLISHER)
  measure("${MEMBAR_PUBLISHER}" "${output}/publisher.json")
  list(APPEND options --publisher "${output}/publisher.json")
endif()
if(NOT "${MEMBAR_RECORDED}" STREQUAL "" AND EXISTS "${MEMBAR_RECORDED}")
  list(APPEND options --recorded "${MEMBAR_RECORDED}")
endif()

find_program(python NAMES python3 python NO_CACHE)
set(version 0)
if(python)
  execute_process(COMMAND "${python}" -c "import sys; print('%d.%d' % sys.version_info[:2])"
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT version VERSION_GREATER_EQUAL 3.8)
  message(STATUS "fence_report: wrote no report, because Python 3.8 or newer was not found (install python3); results: ${results}.json and ${results}.csv")
  return()
endif()

# Prints the location of the report, and its headline.
separate_arguments(report_arguments UNIX_COMMAND "${MEMBAR_REPORT_ARGS}")
execute_process(COMMAND "${python}" "${MEMBAR_REPORT}" ${options} ${report_arguments} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "fence_report: ${MEMBAR_REPORT} failed (${result}); see its message above; the results of the "
    "bench are ${results}.json and ${results}.csv")
endif()
