#!/bin/bash
# Renders the mixin: dashboards/render.sh [FOLDER], by default rendered/ beside this script.
#
# What is committed there is this rendering with the defaults of config.libsonnet; a test compares.
# A mixin of one's own, with other settings, as README.md says: MIXIN=FILE dashboards/render.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/rendered}
mixin=$(realpath "${MIXIN:-$here/mixin.libsonnet}")

mkdir -p "$out"
yaml() {
    {
        echo "# Rendered from the mixin by dashboards/render.sh; change that."
        jsonnet -S -J "$here" -e "(import '$here/lib/yaml.libsonnet')((import '$mixin').$1)"
    } >"$out/$2"
}
yaml prometheusRules rules.yaml
yaml prometheusAlerts alerts.yaml
jsonnet -m "$out" -J "$here" -e "(import '$mixin').grafanaDashboards" >/dev/null

# The Helm chart has copies, since its package holds no links out of it.
files=$here/../deploy/kubernetes/chart/files
if [ "$out" = "$here/rendered" ] && [ -d "$files" ]; then
    rm -rf "$files"
    mkdir -p "$files/rules" "$files/dashboards"
    cp "$out"/*.yaml "$files/rules/"
    find "$out" -name '*.json' -exec cp -t "$files/dashboards/" {} +
fi
