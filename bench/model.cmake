# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command membar-litmus and the bench of the model. Plain C++: neither needs a CUDA toolkit; without one, `run` only compiles.
find_package(Threads REQUIRED)
include(${PROJECT_SOURCE_DIR}/cmake/embed_headers.cmake)

# What the engine's kernel is made of, and what it includes.
set(embedded ${CMAKE_CURRENT_BINARY_DIR}/embedded)
membar_embed_headers(${embedded}/kernel_headers.hpp membar/detail/config.hpp membar/litmus/instance_layout.hpp
                     membar/litmus/launch_view.hpp membar/litmus/kernel.cuh)

set(here ${CMAKE_CURRENT_LIST_DIR})
add_executable(membar-litmus ${here}/membar_litmus.cpp ${here}/litmus/prepare.cpp
               ${here}/litmus/$<IF:$<BOOL:${CUDAToolkit_FOUND}>,run_on_gpu.cpp,run_without_toolkit.cpp>)
target_include_directories(membar-litmus PRIVATE ${embedded})
target_link_libraries(membar-litmus PRIVATE membar::membar Threads::Threads ${CMAKE_DL_LIBS})
if(MEMBAR_INSTALL)
  include(GNUInstallDirs)
  install(TARGETS membar-litmus COMPONENT membar-litmus)
endif()

find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(model_throughput ${here}/model_throughput.cpp)
  target_link_libraries(model_throughput PRIVATE membar::membar benchmark::benchmark)
endif()
