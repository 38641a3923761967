#!/bin/bash
# Whatever can start a thread is run under the thread sanitizer: every unit program that has been
# linked with a function that starts one is named in tests/threaded.txt. The simulated node starts
# none, hence its programs are not run there.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."
failed=0

# Those of the files that are linked with a function that starts a thread.
start_threads() {
    nm -A --undefined-only "$@" |
        sed -nE 's/:.* (pthread_create|thrd_create|MHD_start_daemon)(@.*)?$//p' | sort -u
}
problem() {
    echo "$1"
    failed=1
}

programs=()
for source in unit/*/test_*.c; do
    programs+=("$build/tests/$(basename "$source" .c)")
done
threaded=$(start_threads -D "${programs[@]}")
for program in $threaded; do
    name=$(basename "$program")
    if ! grep -qx "$name" threaded.txt; then
        problem "$name can start a thread: add it to tests/threaded.txt"
    fi
done
while read -r name; do
    if ! compgen -G "unit/*/$name.c" >/dev/null; then
        problem "tests/threaded.txt: there is no $name"
    fi
done < <(grep '^[^#]' threaded.txt)
simnode=$(start_threads "$build/tests/simnode/libsimnode_lib.a")
if [ -n "$simnode" ]; then
    problem "the simulated node can start a thread: run it under the thread sanitizer"
fi
exit "$failed"
