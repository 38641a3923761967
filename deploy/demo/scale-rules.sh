#!/bin/bash
# Prometheus rules with shorter durations, for the demo: deploy/demo/scale-rules.sh FACTOR RULES.yaml > SCALED.yaml
#
# Divides every duration by FACTOR: intervals, "for", ranges, offsets. Thresholds, names and texts
# stay the same, so "of the last 15 minutes" and rate5m are then not literally true.
set -euo pipefail
export LC_ALL=C

case ${1-} in
'' | *[!0-9]* | 0*)
    echo "usage: $0 FACTOR RULES.yaml" >&2
    exit 2
    ;;
esac
exec awk -v factor="$1" '
    BEGIN {
        unit["ms"] = 1; unit["s"] = 1000; unit["m"] = 60000; unit["h"] = 3600000
        unit["d"] = 86400000; unit["w"] = 7 * unit["d"]; unit["y"] = 365 * unit["d"]
        duration = "([0-9]+(ms|[smhdwy]))+"
    }
    function scaled(text,    ms, digits, letters) {
        for (ms = 0; text != ""; text = substr(text, length(digits letters) + 1)) {
            match(text, /^[0-9]+/)
            digits = substr(text, 1, RLENGTH)
            letters = substr(text, RLENGTH + 1)
            match(letters, /^[a-z]+/)
            letters = substr(letters, 1, RLENGTH)
            ms += digits * unit[letters]
        }
        ms /= factor
        return (ms < 1 ? 1 : int(ms + 0.5)) "ms"
    }
    # Each duration that follows "before" in the line.
    function rewrite(line, before,    out, found) {
        for (out = ""; match(line, before duration); line = substr(line, RSTART + RLENGTH)) {
            found = substr(line, RSTART, RLENGTH)
            out = out substr(line, 1, RSTART - 1)
            match(found, duration "$")
            out = out substr(found, 1, RSTART - 1) scaled(substr(found, RSTART))
            match(line, before duration)
        }
        return out line
    }
    # What is below an annotation is prose, whatever it looks like.
    /^ *(- )?[a-z_]+:/ {
        match($0, /^ */)
        if (!prose || RLENGTH <= indent) {
            prose = /^ *(summary|description|runbook_url):/
            indent = RLENGTH
        }
    }
    !prose && /^ *(- )?(interval|for|keep_firing_for|query_offset): / { $0 = rewrite($0, ": *\"?") }
    !prose { $0 = rewrite(rewrite(rewrite($0, "[[]"), "[[][0-9a-z]+:"), "offset +-?") }
    { print }
' "${2-/dev/stdin}"
