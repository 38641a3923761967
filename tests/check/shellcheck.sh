#!/bin/bash
# Every shell script of the tree, known by its first line, passes shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -d '' scripts < <(
    find .ci deploy tests exporter collectors -type f -print0 |
        xargs -0 grep -lZ -m1 -E '^#!.*/(env )?(ba|da)?sh( |$)'
)
shellcheck "${scripts[@]}"
