#!/bin/bash
# Every test of the project: sudo tests/run.sh [CTEST ARGUMENT...]
#
# Installs what is missing, makes one build per kind (plain, address and undefined-behaviour
# sanitizers, thread sanitizer, fuzzers), and runs all their tests under one ctest, whose summary
# comes last. Arguments are for that ctest: `tests/run.sh -R unit` runs the unit tests only.
# Everything is written below build/ of the tree, and to ccache's own folder. Without root it works where nothing has to be
# installed; what needs root is then skipped, with the reason.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
jobs=$(nproc)

deploy/install-packages.sh deploy/packages-*.txt tests/packages.txt
# Other builds of Node.js bring npm along and exclude Debian's, which is a package of its own.
if ! command -v npm >/dev/null && [ "$(id -u)" -eq 0 ]; then
    deploy/install-packages.sh <(echo npm)
fi

# Builds that tests make are held to the same, and share what has been compiled.
export IE_WERROR=ON
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

build() {
    local kind=$1
    shift
    echo "== building $kind"
    cmake -S . -B "build/$kind" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DIE_WERROR=ON -DIE_BPF=REQUIRED "$@"
    cmake --build "build/$kind" -j "$jobs" -- --quiet
}
build plain -DCMAKE_C_COMPILER=gcc
build asan -DCMAKE_C_COMPILER=gcc -DIE_SANITIZE=address,undefined
build tsan -DCMAKE_C_COMPILER=clang -DIE_SANITIZE=thread
# Of what reads strangers' bytes for 8 s, not 40, of the rest for 3: all has to end within 25 minutes.
build fuzz -DCMAKE_C_COMPILER=clang -DIE_FUZZ=ON -DIE_FUZZ_STRANGERS_SECONDS=8 -DIE_FUZZ_SECONDS=3

# One ctest over all builds.
suite=build/suite
mkdir -p "$suite"
for kind in plain asan tsan fuzz; do
    printf 'subdirs("%s")\n' "$PWD/build/$kind"
done >"$suite/CTestTestfile.cmake"

# The thread sanitizer's shadow memory does not fit where the kernel scatters mappings this widely.
run=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ]; then
    run=(setarch "$(uname -m)" -R)
fi
# Integration tests, most of the work, wait most of the time: half as many again are started.
"${run[@]}" ctest --test-dir "$suite" -j "$((jobs + (jobs + 1) / 2))" --output-on-failure --no-tests=error "$@"
