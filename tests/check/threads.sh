#!/bin/bash
# Whatever can start a thread is run under the thread sanitizer: every unit program that has been
# linked with a function that starts one is named in tests/threaded.txt. The simulated node starts
# none, hence its programs are not run there.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."
failed=0

starts_threads() {
    local symbols
    symbols=$(nm --undefined-only "$@") || exit 1
    grep -qE ' (pthread_create|thrd_create|MHD_start_daemon)(@|$)' <<<"$symbols"
}
problem() {
    echo "$1"
    failed=1
}

for source in unit/*/test_*.c; do
    name=$(basename "$source" .c)
    if starts_threads -D "$build/tests/$name" && ! grep -qx "$name" threaded.txt; then
        problem "$name can start a thread: add it to tests/threaded.txt"
    fi
done
while read -r name; do
    if ! compgen -G "unit/*/$name.c" >/dev/null; then
        problem "tests/threaded.txt: there is no $name"
    fi
done < <(grep '^[^#]' threaded.txt)
if starts_threads "$build/tests/simnode/libsimnode_lib.a"; then
    problem "the simulated node can start a thread: run it under the thread sanitizer"
fi
exit "$failed"
