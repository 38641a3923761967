#!/bin/bash
# The product builds without a warning as packagers build it: Release, with gcc and with clang. Some
# warnings need the optimiser, so it is compiled in earnest.
set -euo pipefail
build=$1
cd "$(dirname "$0")/../.."
for compiler in gcc clang; do
    folder=$build/release-$compiler
    cmake -S . -B "$folder" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_COMPILER="$compiler" -DIE_TESTS=OFF -DIE_GOVERNOR=ON -DIE_WERROR=ON >/dev/null
    cmake --build "$folder" -j 1 -- --quiet
done
