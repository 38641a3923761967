#!/bin/bash
# Within a minute, after the build, whether a change holds: tests/quick.sh [BUILD DIRECTORY]
#
# Builds what unit tests and checks take (below build/plain, unless told), and runs the checks that
# times.tsv has as quick, and the unit tests that changed: those whose program is not, byte for byte,
# the one that passed here last. So the linker says what a change reaches, and in a new build it is
# all of them. Installs nothing: run.sh does.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
build=${1:-build/plain}

# shellcheck source=/dev/null
. tests/build.sh
[ -e "$build/build.ninja" ] || configure "$build" -DCMAKE_C_COMPILER=gcc
compile "$build" quick
build=$(realpath "$build")

# A line per program, and one for all files that some of them read.
state() {
    (cd "$build/tests" && find . -maxdepth 1 -type f -name 'test_*' -executable -exec sha1sum {} +)
    find tests/fixtures tests/machines tests/replay collectors/*.md exporter/governor/*.md -type f \
        -exec sha1sum {} + | sort | sha1sum
}
state | sort >"$build/quick.now"
touch "$build/quick.passed"
due=$(comm -23 "$build/quick.now" "$build/quick.passed" | sed 's|.*[ /]||')
echo "== unit tests that changed: $(grep -c '^test_' <<<"$due" || true)"
if grep -qx -e - <<<"$due"; then
    echo "   and a file that some read: all of them"
    due='test_.*'
fi
ctest --test-dir "$build" -j "$(beside)" --output-on-failure --no-tests=error -L '^quick$' \
    -R "^(check\..*|unit\.(${due//$'\n'/|}))$"
mv "$build/quick.now" "$build/quick.passed"
