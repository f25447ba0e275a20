# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The programs' dependencies, which the headers do not need: CLI11 parses options, and nlohmann/json writes reports. An
# installed package is used if there is one; otherwise, a pinned version of the source is fetched. Programs must link
# CLI11::CLI11 and nlohmann_json::nlohmann_json as PRIVATE.
include(FetchContent)

# _membar_need_package(<name> <oldest> <repository> <tag> <commit> <debian package>): makes the target <name>::<name> available.
function(_membar_need_package name oldest repository tag commit debian_package)
  if(TARGET ${name}::${name})
    return()
  endif()
  find_package(${name} ${oldest} CONFIG QUIET GLOBAL)
  if(TARGET ${name}::${name})
    return()
  endif()
  # A failed fetch prints many lines but no remedy, so first test whether the repository can be reached.
  string(TOUPPER ${name} upper)
  if(NOT FETCHCONTENT_FULLY_DISCONNECTED AND NOT FETCHCONTENT_SOURCE_DIR_${upper})
    execute_process(COMMAND git ls-remote --exit-code ${repository} ${tag} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
    if(failed)
      message(FATAL_ERROR "membar: the programs need ${name}, which is not installed and could not be fetched from ${repository}: install the Debian "
                          "packages libcli11-dev and nlohmann-json3-dev (${debian_package} has ${name}), or set MEMBAR_BUILD_TOOLS, "
                          "MEMBAR_BUILD_TESTS and MEMBAR_BUILD_BENCH to OFF to use only the headers")
    endif()
  endif()
  set(CLI11_BUILD_TESTS OFF)
  set(CLI11_BUILD_EXAMPLES OFF)
  set(CLI11_BUILD_DOCS OFF)
  set(CLI11_INSTALL OFF)
  set(JSON_BuildTests OFF)
  set(JSON_Install OFF)
  FetchContent_Declare(${name} SYSTEM GIT_REPOSITORY ${repository} GIT_TAG ${commit})
  FetchContent_MakeAvailable(${name})
endfunction()

macro(_membar_need_cli11)
  _membar_need_package(CLI11 2.1 https://github.com/CLIUtils/CLI11.git v2.4.2 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9 libcli11-dev)
endmacro()

macro(_membar_need_json)
  _membar_need_package(nlohmann_json 3.10 https://github.com/nlohmann/json.git v3.11.3 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03
                       nlohmann-json3-dev)
endmacro()
