# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds a test's fuzzer from its SOURCES with ASan and UBSan, replays the folders of CORPUS, and fuzzes for SECONDS. Lists are separated by
# commas.
if(NOT COMPILER)
  message("SKIPPED: ${TEST} needs clang++ with libFuzzer, but clang++ was not found")
  return()
endif()
foreach(list IN ITEMS SOURCES INCLUDES)
  string(REPLACE "," ";" ${list} "${${list}}")
endforeach()
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(
  COMMAND ${COMPILER} -std=c++20 -O1 -gline-tables-only -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all ${INCLUDES} ${SOURCES}
          -o ${FUZZER} RESULT_VARIABLE built ERROR_VARIABLE messages)
if(NOT built EQUAL 0)
  if(messages MATCHES "libclang_rt.fuzzer")
    message("SKIPPED: ${TEST} needs libFuzzer, but ${COMPILER} does not include it")
    return()
  endif()
  message(FATAL_ERROR "the fuzzer does not build:\n${messages}")
endif()
string(REPLACE "," ";" CORPUS "${CORPUS}")
set(scratch ${FUZZER}.corpus)
file(REMOVE_RECURSE ${scratch})
file(MAKE_DIRECTORY ${scratch})
execute_process(
  COMMAND ${FUZZER} -seed=1 -max_total_time=${SECONDS} -timeout=20 -rss_limit_mb=1024 -max_len=2000 -print_final_stats=1
          -artifact_prefix=${scratch}/ ${scratch} ${CORPUS}
  RESULT_VARIABLE fuzzed ERROR_VARIABLE messages)
string(REGEX MATCH "stat::number_of_executed_units: *[0-9]+" count "${messages}")
message("${count}")
if(NOT fuzzed EQUAL 0)
  message(FATAL_ERROR "the fuzzer found an input that fails:\n${messages}")
endif()
if(NOT count)
  message(FATAL_ERROR "the fuzzer did not run any input:\n${messages}")
endif()
