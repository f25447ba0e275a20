# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DSOURCE=<membar> -DDIR=<folder> -DCOMPILER=<C++ compiler> -P tools_alone.cmake: builds and installs the commands with
# only a C++ compiler and with the optimization level that users get, and runs the command that decides litmus tests.
file(REMOVE_RECURSE ${DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "FAILED with ${status}: ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${DIR} -DMEMBAR_BUILD_TESTS=OFF -DMEMBAR_BUILD_BENCH=OFF -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DCMAKE_CUDA_COMPILER=NOTFOUND)
run(${CMAKE_COMMAND} --build ${DIR})
if(output MATCHES "warning: ")
  message(FATAL_ERROR "FAILED: the compiler warns\n${output}")
endif()
run(${CMAKE_COMMAND} --install ${DIR} --prefix ${DIR}/prefix)
run(${DIR}/prefix/bin/membar-litmus verdict ${SOURCE}/tests/litmus/catalogue/forbidden/MP+api.litmus)
message("PASSED")
