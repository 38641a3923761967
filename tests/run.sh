#!/bin/bash
# The tests of the project: sudo tests/run.sh [--ci | --all] [CTEST ARGUMENT...]
#
# Installs what is missing, makes one build per kind (plain, address and undefined-behaviour
# sanitizers, thread sanitizer, fuzzers), and runs their tests under one ctest. times.tsv says which:
# without an option at most ten minutes of tests, with --ci what fits into CI's 25 with the builds,
# with --all every one, and fuzzing for as long as CMakeLists.txt says. Arguments are for that ctest:
# `tests/run.sh -L unit` runs the unit tests only.
# Everything is written below build/ of the tree, and to ccache's own folder. Without root it works
# where nothing has to be installed; what needs root is then skipped, with the reason.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

speeds='^(quick|run)$'
# Of what reads strangers' bytes for 8 s, not 40, of the rest for 3.
fuzzing=(-DIE_FUZZ_STRANGERS_SECONDS=8 -DIE_FUZZ_SECONDS=3)
case ${1:-} in
--ci)
    speeds='^(quick|run|ci)$'
    shift
    ;;
--all)
    speeds=.
    fuzzing=(-UIE_FUZZ_STRANGERS_SECONDS -UIE_FUZZ_SECONDS)
    shift
    ;;
esac

deploy/install-packages.sh deploy/packages-*.txt tests/packages.txt
# Other builds of Node.js bring npm along and exclude Debian's, which is a package of its own.
if ! command -v npm >/dev/null && [ "$(id -u)" -eq 0 ]; then
    deploy/install-packages.sh <(echo npm)
fi

# shellcheck source=/dev/null
. tests/build.sh
build() {
    echo "== building $1"
    configure "build/$1" "${@:2}"
    compile "build/$1"
}
build plain -DCMAKE_C_COMPILER=gcc
build asan -DCMAKE_C_COMPILER=gcc -DIE_SANITIZE=address,undefined
build tsan -DCMAKE_C_COMPILER=clang -DIE_SANITIZE=thread
build fuzz -DCMAKE_C_COMPILER=clang -DIE_FUZZ=ON "${fuzzing[@]}"

# One ctest over all builds.
suite=$PWD/build/suite
mkdir -p "$suite"
for kind in plain asan tsan fuzz; do
    printf 'subdirs("%s")\n' "$PWD/build/$kind"
done >"$suite/CTestTestfile.cmake"
export IE_TEST_SUITE=$suite # for check.test_times, which belongs to one build and looks at all

# The thread sanitizer's shadow memory does not fit where the kernel scatters mappings this widely.
run=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ]; then
    run=(setarch "$(uname -m)" -R)
fi
status=0
"${run[@]}" ctest --test-dir "$suite" -j "$(beside)" --output-on-failure --no-tests=error \
    --output-junit "$suite/times.xml" -L "$speeds" "$@" || status=$?
tests/times.py compare "$suite/times.xml" || status=$((status ? status : 1))
exit "$status"
