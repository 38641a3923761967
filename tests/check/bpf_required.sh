#!/bin/bash
# With IE_BPF=REQUIRED nothing is built that cannot count by BPF: configuring fails, and says what is missing.
set -euo pipefail
build=$1
cd "$(dirname "$0")/../.."
folder=$build/without-bpf
configure() {
    cmake -S . -B "$folder" -G Ninja -DIE_TESTS=OFF -DBPFTOOL=BPFTOOL-NOTFOUND \
        "-DCMAKE_IGNORE_PATH=/usr/sbin;/sbin" "$@" 2>&1
}
rm -rf "$folder"
if said=$(configure -DIE_BPF=REQUIRED); then
    echo "IE_BPF=REQUIRED without bpftool was taken" >&2
    exit 1
fi
grep -q "IE_BPF=REQUIRED: the source bpf takes clang, bpftool and libbpf" <<<"$said" || {
    echo "$said" >&2
    exit 1
}
said=$(configure -DIE_BPF=ON)
grep -q "without the source bpf" <<<"$said" || {
    echo "$said" >&2
    exit 1
}
