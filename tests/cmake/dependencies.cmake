# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Dependencies of the tests and benchmarks, but not of the headers. If a package is installed, it is used; otherwise, a pinned
# version of the source is fetched.
include(FetchContent)

macro(membar_need_googletest)
  set(BUILD_GMOCK OFF)
  set(INSTALL_GTEST OFF)
  FetchContent_Declare(googletest SYSTEM
    GIT_REPOSITORY https://github.com/google/googletest.git
    GIT_TAG f8d7d77c06936315286eb55f8de22cd23c188571  # v1.14.0
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endmacro()

macro(membar_need_benchmark)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  FetchContent_Declare(benchmark SYSTEM
    GIT_REPOSITORY https://github.com/google/benchmark.git
    GIT_TAG 344117638c8ff7e239044fd0fa7085839fc03021  # v1.8.3
    FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(benchmark)
endmacro()
