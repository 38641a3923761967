#!/bin/bash
# Every C file is as clang-format leaves it, and no line of it is wider than 100 columns.
set -euo pipefail
export LC_ALL=C.UTF-8 # columns are characters, not bytes
cd "$(dirname "$0")/../.."
find exporter collectors tests deploy -name '*.[ch]' -print0 |
    xargs -0 --no-run-if-empty clang-format --dry-run -Werror --style=file
# clang-format leaves comments as they are.
if find exporter collectors tests deploy -name '*.[ch]' -exec grep -HnP '^.{101,}' {} +; then
    echo "comments wider than 100 columns"
    exit 1
fi
# Who reads a diff or a terminal has no line of a page's length.
if find . -path ./build -prune -o -name '*.md' -exec grep -HnoP '^.{600}(?=.)' {} + | cut -d: -f1,2 | grep .; then
    echo "lines of more than 600 characters"
    exit 1
fi
