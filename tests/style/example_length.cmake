# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cmake_minimum_required(VERSION 3.25)
# An example must have fewer than 80 lines, so that it is short enough to read completely.
file(GLOB examples ${ROOT}/examples/*.cu)
foreach(example IN LISTS examples)
  file(READ ${example} text)
  string(REGEX MATCHALL "\n" lines "${text}")
  list(LENGTH lines count)
  if(NOT count LESS 80)
    message(SEND_ERROR "${example} has ${count} lines; an example must have fewer than 80")
  endif()
endforeach()
