#!/bin/bash
# Renders the mixin: dashboards/render.sh [FOLDER], by default rendered/ beside this script.
#
# What is committed there is this rendering with the defaults of config.libsonnet; a test compares.
# A mixin of one's own, with other settings, as README.md says: MIXIN=FILE dashboards/render.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/rendered}
mixin=$(realpath "${MIXIN:-$here/mixin.libsonnet}")

files="(import '$here/lib/render.libsonnet')(import '$mixin')"
mkdir -p "$out/persistent-memory" "$out/kubelet"
jsonnet -S -m "$out" -J "$here" -e "$files.texts" >/dev/null
jsonnet -m "$out" -J "$here" -e "$files.dashboards" >/dev/null
rmdir --ignore-fail-on-non-empty "$out/persistent-memory" "$out/kubelet"

# The Helm chart has copies, since its package holds no links out of it; where it runs, no kubelet has to stand in.
files=$here/../deploy/kubernetes/chart/files
if [ "$out" = "$here/rendered" ] && [ -d "$files" ]; then
    rm -rf "$files"
    mkdir -p "$files/rules" "$files/dashboards"
    cp "$out"/*.yaml "$files/rules/"
    find "$out" -maxdepth 1 -name '*.json' -exec cp -t "$files/dashboards/" {} +
    cp -r "$out/persistent-memory" "$files/"
fi
