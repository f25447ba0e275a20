#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# check_ptx.sh <FileCheck> <arch> <file.cu> <ptx> <nvcc> <option>...: compiles the file to PTX, matches the PTX against the
# file's own lines with the prefixes CHECK and SM_<arch>, and assembles it.
filecheck=$1 architecture=$2 source=$3 ptx=$4 nvcc=$5
shift 4
"$@" -ptx -arch="sm_$architecture" -o "$ptx" "$source" || { echo "$source does not compile for sm_$architecture"; exit 1; }
"$filecheck" --check-prefixes="CHECK,SM_$architecture" --allow-unused-prefixes=true --input-file="$ptx" "$source" ||
  { echo "the PTX for sm_$architecture does not match $source; see $ptx"; exit 1; }
"$nvcc" -cubin -arch="sm_$architecture" -o "$ptx.cubin" "$ptx" ||
  { echo "the PTX for sm_$architecture does not assemble; see $ptx"; exit 1; }
echo "$(grep -c '^// CHECK-LABEL: ' "$source") kernels match $source"
