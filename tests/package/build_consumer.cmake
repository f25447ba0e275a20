# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cmake_minimum_required(VERSION 3.25)
# Configures, builds and runs the project in consumer/ in the empty folder DIR, with the cache entries OPTIONS, separated by |.
# If a build tree KNOWN is given, CMake reuses its compiler detection, which would otherwise take seconds.
file(REMOVE_RECURSE ${DIR})
set(known_options)
if(KNOWN)
  set(compilers CMakeFiles/${CMAKE_VERSION})
  file(GLOB files ${KNOWN}/${compilers}/CMakeSystem.cmake ${KNOWN}/${compilers}/CMakeC*Compiler.cmake)
  file(COPY ${files} DESTINATION ${DIR}/${compilers})
  set(known_options -DCMAKE_PLATFORM_INFO_INITIALIZED:INTERNAL=1)
endif()
string(REPLACE "|" ";" OPTIONS "${OPTIONS}")
list(TRANSFORM OPTIONS PREPEND -D)
execute_process(
  COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_LIST_DIR}/consumer ${DIR}
    --build-generator ${GENERATOR} --build-makeprogram ${MAKE_PROGRAM} --build-options ${OPTIONS} ${known_options}
    --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure
  COMMAND_ERROR_IS_FATAL ANY)
