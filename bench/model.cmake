# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command membar-litmus and the bench of the model. Plain C++: neither needs a CUDA toolkit.
find_package(Threads REQUIRED)

add_executable(membar-litmus ${CMAKE_CURRENT_LIST_DIR}/membar_litmus.cpp)
target_link_libraries(membar-litmus PRIVATE membar::membar Threads::Threads)

find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(model_throughput ${CMAKE_CURRENT_LIST_DIR}/model_throughput.cpp)
  target_link_libraries(model_throughput PRIVATE membar::membar benchmark::benchmark)
endif()
