#!/bin/bash
# The product builds without a warning as packagers build it: Release, with gcc and with clang. Some
# warnings need the optimiser, so it is compiled in earnest. And without persistent memory: then it
# has no disassembler and no such collector, and starts.
set -euo pipefail
build=$1
cd "$(dirname "$0")/../.."
make() { # FOLDER COMPILER [CMAKE ARGUMENT...]
    cmake -S . -B "$1" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_COMPILER="$2" -DIE_TESTS=OFF -DIE_WERROR=ON "${@:3}" >/dev/null
    cmake --build "$1" -j 1 -- --quiet
}
for compiler in gcc clang; do
    make "$build/release-$compiler" "$compiler" -DIE_GOVERNOR=ON
done
make "$build/release-without" gcc -DIE_NVMM=OFF
program=$build/release-without/interference_exporter
if ldd "$program" | grep -i zydis || "$program" --help | grep -e 'pebs_nvmm' -e 'pmm_rpq'; then
    echo "IE_NVMM=OFF has left something in" >&2
    exit 1
fi
"$program" --version
