#!/bin/bash
# Prometheus rules with shorter durations, for the demo: deploy/demo/scale-rules.sh FACTOR RULES.yaml > SCALED.yaml
#
# Divides every duration by FACTOR: intervals, "for", ranges, offsets, and what texts say of them ("of
# the last 15 minutes", also in the queries that they hold). Thresholds and names stay the same, so
# rate5m is then not literally true.
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
        told = "(^|[^a-z0-9.])(an?|[0-9]+) (second|minute|hour|day|week)s?($|[^a-z])"
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
    # As people say it: "45 seconds".
    function words(seconds,    unit, n) {
        unit = seconds < 120 ? "second" : seconds < 7200 ? "minute" : "hour"
        n = seconds / (unit == "second" ? 1 : unit == "minute" ? 60 : 3600)
        n = int(n * 10 + 0.5) / 10
        return n " " unit (n == 1 ? "" : "s")
    }
    # Each "15 minutes", "a day" of a text; not "per second".
    function retell(line,    out, found, lead, n) {
        for (out = ""; match(line, told);) {
            found = substr(line, RSTART, RLENGTH)
            out = out substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + RLENGTH)
            match(found, /(an?|[0-9]+) /)
            lead = substr(found, 1, RSTART - 1)
            n = substr(found, RSTART, RLENGTH - 1)
            match(found, /(second|minute|hour|day|week)/)
            out = out lead words((n ~ /^a/ ? 1 : n) * unit[substr(found, RSTART, 1)] / 1000 / factor)
            if (found ~ /[^a-z]$/)
                out = out substr(found, length(found))
        }
        return out line
    }
    # What is below an annotation is prose, whatever it looks like.
    /^ *(- )?[a-z_]+:/ {
        match($0, /^ */)
        if (!prose || RLENGTH <= indent) {
            prose = /^ *(summary|description|runbook_url):/
            address = /^ *runbook_url:/
            indent = RLENGTH
        }
    }
    prose && !address { $0 = rewrite(retell($0), "[[]") }
    !prose && /^ *(- )?(interval|for|keep_firing_for|query_offset): / { $0 = rewrite($0, ": *\"?") }
    !prose { $0 = rewrite(rewrite(rewrite($0, "[[]"), "[[][0-9a-z]+:"), "offset +-?") }
    { print }
' "${2-/dev/stdin}"
