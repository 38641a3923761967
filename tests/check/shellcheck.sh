#!/bin/bash
# Every shell script of the tree, known by its first line, passes shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -d '' scripts < <(
    find .ci deploy dashboards tests exporter collectors -type f -not -path "*/node_modules/*" -print0 |
        xargs -0 grep -lZ -m1 -E '^#!.*/(env )?(ba|da)?sh( |$)'
)
shellcheck "${scripts[@]}"
