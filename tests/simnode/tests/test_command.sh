#!/bin/bash
# The command itself: simnode PROGRAM. Bad input: one line that names file, line and key; exit 2.
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}

expect_exit_2() { # WORDS-ON-STDERR ARGUMENTS...
    local words=$1
    shift
    "$program" "$@" >"$folder/out" 2>"$folder/err"
    local status=$?
    [ $status -eq 2 ] || fail "$*: exit $status, not 2"
    grep -qF -- "$words" "$folder/err" || fail "$*: '$(cat "$folder/err")' does not say '$words'"
}

good='{"scenario":1,"ticks":2,"tick_cycles":10000,"machine":{},
"workloads":{"w":{"kind":"stream"}},
"containers":[{"key":"a","workload":"w","cpus":[0]}]}'
echo "$good" >"$folder/good.json"
echo "${good/\"ticks\":2/\"ticks\":-2}" >"$folder/bad.json"
printf '%s\n' '{"scenario":1,"ticks":2,"tick_cycles":10000,"machine":{},' \
    '"workloads":{"w":{"kind":"trace","file":"t"}},' \
    '"containers":[{"key":"a","workload":"w","cpus":[0]}]}' >"$folder/trace.json"

expect_exit_2 usage
expect_exit_2 usage "$folder/good.json"
expect_exit_2 usage --what "$folder/out.jsonl"
expect_exit_2 "$folder/none.json: No such file" "$folder/none.json" "$folder/out.jsonl"
expect_exit_2 "$folder/bad.json:1: ticks: must be" "$folder/bad.json" "$folder/out.jsonl"
expect_exit_2 "$folder/t: No such file" "$folder/trace.json" "$folder/out.jsonl"
printf '1 64\n2 x\n' >"$folder/t"
expect_exit_2 "$folder/t:2: expected" "$folder/trace.json" "$folder/out.jsonl"
printf '1 64\n2 128 64\n' | gzip >"$folder/t"
"$program" "$folder/trace.json" "$folder/out.jsonl" || fail "a gzip trace"

"$program" "$folder/good.json" "$folder/out.jsonl" || fail "a good scenario"
[ "$(grep -c '^{"tick"' "$folder/out.jsonl")" = 2 ] || fail "two ticks"
"$program" "$folder/good.json" - | cmp - "$folder/out.jsonl" || fail "standard output differs"
"$program" "$folder/good.json" "$folder/none/out.jsonl" 2>"$folder/err"
[ $? -eq 1 ] || fail "an output that cannot be written"
echo passed
