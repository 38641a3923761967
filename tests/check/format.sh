#!/bin/bash
# Every C file is as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/../.."
find exporter collectors tests deploy -name '*.[ch]' -print0 |
    xargs -0 --no-run-if-empty clang-format --dry-run -Werror --style=file
