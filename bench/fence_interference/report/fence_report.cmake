# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the bench fence_interference and draws its report. The target fence_report calls
#   cmake -DMEMBAR_BENCH=<exe> -DMEMBAR_REPORT=<report.py> -DMEMBAR_OUTPUT_DIR=<dir>
#         [-DMEMBAR_RECORDED=<json>] [-DMEMBAR_BENCH_ARGS=<arguments>] [-DMEMBAR_PUBLISHER=<exe>] -P fence_report.cmake
# Without Python the tables, JSON and CSV of the bench remain; without matplotlib the report has no pictures.

cmake_minimum_required(VERSION 3.23)

foreach(variable IN ITEMS MEMBAR_BENCH MEMBAR_REPORT MEMBAR_OUTPUT_DIR)
  if("${${variable}}" STREQUAL "")
    message(FATAL_ERROR "fence_report: ${variable} is not set; pass -D${variable}=<path>")
  endif()
endforeach()
foreach(variable IN ITEMS MEMBAR_BENCH MEMBAR_REPORT)
  if(NOT EXISTS "${${variable}}")
    message(FATAL_ERROR "fence_report: ${variable}, ${${variable}}, does not exist; build the target fence_report again")
  endif()
endforeach()

get_filename_component(output "${MEMBAR_OUTPUT_DIR}" ABSOLUTE)
file(MAKE_DIRECTORY "${output}")
set(json "${output}/fence_interference.json")
set(csv "${output}/fence_interference.csv")
# What an earlier run left here must not pass for this one's result.
file(REMOVE "${json}" "${csv}")

separate_arguments(bench_arguments UNIX_COMMAND "${MEMBAR_BENCH_ARGS}")
execute_process(
  COMMAND "${MEMBAR_BENCH}" "--benchmark_out=${json}" --benchmark_out_format=json "--csv=${csv}" ${bench_arguments}
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "fence_report: ${MEMBAR_BENCH} failed (${result}); its own message is above, and no report was drawn")
endif()

# The second bench of the report: publishing by every warp against a publisher warp.
set(publisher)
if(MEMBAR_PUBLISHER)
  file(REMOVE "${output}/publisher.json")
  execute_process(COMMAND "${MEMBAR_PUBLISHER}" "--benchmark_out=${output}/publisher.json" --benchmark_out_format=json
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "fence_report: ${MEMBAR_PUBLISHER} failed (${result}); its own message is above, and no report was drawn")
  endif()
  set(publisher --publisher "${output}/publisher.json")
endif()

find_program(python NAMES python3 python NO_CACHE)
if(python)
  execute_process(COMMAND "${python}" -c "import sys; print('%d.%d' % sys.version_info[:2])"
    RESULT_VARIABLE result OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT result EQUAL 0 OR version VERSION_LESS 3.8)
    set(python "")
  endif()
endif()
if(NOT python)
  message(STATUS "fence_report: no report, because there is no Python 3.8 or newer (install python3); results: ${json} and ${csv}")
  return()
endif()

# A Python that has matplotlib: the user's, else one in a virtual environment inside the build folder.
set(drawing_python "${python}")
execute_process(COMMAND "${python}" -c "import matplotlib" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(NOT result EQUAL 0)
  get_filename_component(environment "${output}/../report-venv" ABSOLUTE)
  set(environment_python "${environment}/bin/python")
  if(CMAKE_HOST_WIN32)
    set(environment_python "${environment}/Scripts/python.exe")
  endif()
  set(result 1)
  if(EXISTS "${environment_python}")
    execute_process(COMMAND "${environment_python}" -c "import matplotlib" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(NOT result EQUAL 0)
    message(STATUS "fence_report: installing matplotlib into ${environment}")
    execute_process(COMMAND "${python}" -m venv --clear "${environment}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(matplotlib "matplotlib==3.10.8")
      if(version VERSION_LESS 3.10)
        set(matplotlib "matplotlib==3.7.5") # the last one for Python 3.8
      endif()
      # Wheels only and short time-outs: on a machine without a network this must end soon, and never in a compiler.
      execute_process(
        COMMAND "${environment_python}" -m pip --disable-pip-version-check --no-input --quiet
                --timeout 15 --retries 1 install --only-binary :all: "${matplotlib}"
        TIMEOUT 240 RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    endif()
  endif()
  if(result EQUAL 0)
    set(drawing_python "${environment_python}")
  endif() # else report.py says in one line what to install
endif()

set(recorded)
if(NOT "${MEMBAR_RECORDED}" STREQUAL "" AND EXISTS "${MEMBAR_RECORDED}")
  set(recorded --recorded "${MEMBAR_RECORDED}")
endif()
# Prints where the report is, and the verdict.
execute_process(
  COMMAND "${drawing_python}" "${MEMBAR_REPORT}" --input "${json}" --output-dir "${output}" ${recorded} ${publisher}
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "fence_report: ${MEMBAR_REPORT} failed (${result}); its own message is above, and the results of the "
    "bench are ${json} and ${csv}")
endif()
