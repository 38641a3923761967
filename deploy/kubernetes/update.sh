#!/bin/bash
# Makes again what is made from other files: deploy/kubernetes/update.sh
#
#   chart/files/   copies of dashboards/rendered, by dashboards/render.sh
#   victoriametrics/vmrule.yaml   the rules
#   manifests/     the chart with its defaults and manifests.yaml, as release interference-exporter in
#                  the namespace monitoring
#
# Needs what tests/packages.txt has for jsonnet and Go. Tests compare.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
chart=deploy/kubernetes/chart
manifests=deploy/kubernetes/manifests

dashboards/render.sh
rm -rf "$manifests"
mkdir -p "$manifests"

build=${BUILD:-build/chart}
mkdir -p "$build"
GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode GOCACHE=$PWD/$build/go \
    go build -o "$build/render" tests/chart/render.go
"$build/render" "$chart" deploy/kubernetes/manifests.yaml | awk -v out="$manifests" '
    /^---$/ { file = ""; next }
    /^# Source: / {
        file = out "/" substr($3, length("templates/") + 1)
        print "# Rendered from the chart by deploy/kubernetes/update.sh; change that." >file
        next
    }
    file { print >file }'

# The rules for VictoriaMetrics' operator.
{
    cat <<HEADER
# Made of dashboards/rendered by deploy/kubernetes/update.sh; change that.
apiVersion: operator.victoriametrics.com/v1beta1
kind: VMRule
metadata:
  name: interference-exporter
  namespace: monitoring
spec:
  groups:
HEADER
    for file in rules alerts; do
        sed '/^groups:$/d; s/^./  &/' "dashboards/rendered/$file.yaml"
    done
} >deploy/kubernetes/victoriametrics/vmrule.yaml
