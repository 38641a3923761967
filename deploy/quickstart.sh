#!/bin/bash
# Builds the exporter, starts it on loopback, and shows what it measures: sudo deploy/quickstart.sh
#
#   --port N      listen on 127.0.0.1:N (default 10066)
#   --rounds N    end after N tables (default: at Ctrl-C)
#   --stack       also start Prometheus with the alert rules, and Alertmanager, on 127.0.0.1
#                 (--prometheus-port, 9090; --alertmanager-port, 9093)
#   --demo        instead of measuring, replay four minutes of a simulated node, again and again: a
#                 batch job slows down its neighbours; --demo=FILE: another recording
#   -- FLAG...    further flags for the exporter
#
# Installs what is missing with apt. Builds below build/quickstart of the tree and leaves nothing
# running. On a terminal, the table refreshes in place; otherwise it is printed again and again.
set -euo pipefail
export LC_ALL=C
caller=$PWD
cd "$(dirname "$0")/.."
# shellcheck source=/dev/null
. deploy/stack.sh

port=10066
prometheus_port=9090
# shellcheck disable=SC2034 # for stack.sh
alertmanager_port=9093
alerts_page=
rounds=0
stack=
demo=
recording=
skipped=
flags=()
usage() {
    sed -n '2,/^[^#]/s/^#\( \|$\)//p' deploy/quickstart.sh
}
number() {
    case $2 in
    '' | *[!0-9]*)
        echo "$1: not a number: '$2'" >&2
        exit 2
        ;;
    esac
}
while [ $# -gt 0 ]; do
    case $1 in
    --port | --rounds | --prometheus-port | --alertmanager-port)
        number "$1" "${2-}"
        option=${1#--}
        declare "${option//-/_}=$2"
        shift 2
        ;;
    --port=* | --rounds=* | --prometheus-port=* | --alertmanager-port=*)
        option=${1%%=*}
        number "$option" "${1#*=}"
        option=${option#--}
        declare "${option//-/_}=${1#*=}"
        shift
        ;;
    --stack)
        stack=yes
        shift
        ;;
    --demo)
        demo=yes
        shift
        ;;
    --demo=*)
        demo=yes
        recording=$(realpath "$caller/${1#*=}" 2>/dev/null || realpath "${1#*=}")
        shift
        ;;
    --)
        shift
        flags+=("$@")
        break
        ;;
    --help | -h)
        usage
        exit 0
        ;;
    *)
        echo "unknown option: $1" >&2
        usage >&2
        exit 2
        ;;
    esac
done
url=http://127.0.0.1:$port
prometheus_url=http://127.0.0.1:$prometheus_port
build=build/quickstart

# A container runtime: its socket, or the state of containers that it has started.
runtime() {
    local place
    for place in /run/containerd/containerd.sock /run/crio/crio.sock /run/docker.sock \
        /var/run/docker.sock /run/podman/podman.sock; do
        if [ -S "$place" ]; then
            echo "$place"
            return
        fi
    done
    for place in /run/containerd/io.containerd.runtime.v2.task/*/* \
        /run/containers/storage/overlay-containers/* /var/lib/docker/containers/*; do
        if [ -d "$place" ]; then
            echo "$place"
            return
        fi
    done
}

exporter=
started=()
work=$(mktemp -d)
finish() {
    trap '' INT TERM
    if [ "${#started[@]}" -gt 0 ]; then
        kill -TERM "${started[@]}" 2>/dev/null || true
        wait "${started[@]}" || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'echo; echo "stopped"; exit 0' INT TERM
# In the background, and not for longer than this script.
run() {
    setpriv --pdeathsig TERM -- "$@" </dev/null &
    started+=($!)
}

lists=(deploy/packages-build.txt deploy/packages-quickstart.txt)
options=()
if [ -n "$stack" ]; then
    lists+=(deploy/packages-stack.txt)
fi
if [ -n "$demo" ] && [ -z "$recording" ]; then
    lists+=(deploy/packages-demo.txt)
    options=(-DIE_DEMO=ON)
    recording=$build/demo.jsonl
    skipped=240 # seconds, in which the job comes and goes three times
    flags=(--no-collector.pmm_rpq --no-collector.pebs_nvmm "${flags[@]}") # no persistent memory there
fi
deploy/install-packages.sh "${lists[@]}"

mkdir -p "$build"
echo "building in $build"
if ! {
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIE_TESTS=OFF \
        -DIE_DEMO=OFF "${options[@]}" && cmake --build "$build"
} >"$build/build.log" 2>&1; then
    tail -n 30 "$build/build.log" >&2
    echo "the build failed; the full log is $build/build.log" >&2
    exit 1
fi

if [ -n "$demo" ]; then
    flags=(--source=replay "--source.replay.file=$recording" "--source.replay.skip=${skipped:-0}s"
        "${flags[@]}")
elif [[ " ${flags[*]-}" != *" --source=replay"* ]]; then
    found=$(runtime)
    if [ -n "$found" ]; then
        echo "container runtime: $found"
    else
        echo "no container runtime found: showing every cgroup that has processes (--containers.all-cgroups)"
        flags=(--containers.all-cgroups "${flags[@]}")
    fi
fi

# Another server's answers must not be taken for ours.
for option in port ${stack:+prometheus_port alertmanager_port}; do
    if (: <"/dev/tcp/127.0.0.1/${!option}") 2>/dev/null; then
        echo "127.0.0.1:${!option} is in use; choose another with --${option//_/-}" >&2
        exit 1
    fi
done

pause() {
    sleep "$1" &
    wait $! || true
}
log=$build/exporter.log
alive() {
    local process
    for process in "${started[@]}"; do
        if ! kill -0 "$process" 2>/dev/null; then
            echo "a server ended; the logs are $build/*.log" >&2
            if [ "$process" = "$exporter" ]; then
                tail -n 5 "$log" >&2
            fi
            exit 1
        fi
    done
}
# wait_ready URL HINT
wait_ready() {
    local i
    for ((i = 0; ; i++)); do
        alive
        if curl -fs --max-time 2 -o "$work/ready" "$1/-/ready"; then
            break
        fi
        if [ "$i" -ge 200 ]; then
            echo "$1 is not ready after 20 s; $2" >&2
            exit 1
        fi
        pause 0.1
    done
}
fetch() {
    curl -fsS --max-time 5 "$url$1" -o "$work/$2"
}
start_exporter() {
    local i
    run "$build/interference_exporter" "--web.listen-address=127.0.0.1:$port" "${flags[@]}" \
        >"$log" 2>&1
    exporter=$!
    wait_ready "$url" "its log is $log"
    # The first tick only lays the base line.
    for ((i = 0; i < 50; i++)); do
        fetch /api/v1/status status &&
            [ "$(jq .tick.number "$work/status")" -ge $((${skipped:-1} + 1)) ] && break
        pause 0.1
    done
}
# The demo's recording begins again when it has ended.
restart_exporter() {
    local process others=()
    kill -TERM "$exporter"
    wait "$exporter" || true
    for process in "${started[@]}"; do
        if [ "$process" != "$exporter" ]; then
            others+=("$process")
        fi
    done
    started=("${others[@]}")
    start_exporter
}

start_exporter
if [ -n "$stack" ]; then
    start_stack
fi
# One line per collector: running, or why not. Those for other hardware, and those that are off unless
# asked for, share one.
collectors() {
    jq -r 'def other: (.available | not) and (.reason == "no_device" or .reason == "disabled");
        .collectors
        | (.[] | select(other | not) | [.name, (if .available then "running" + (if (.words // "") != "" and
            .words != "ok" then " (" + .words + ")" else "" end)
            else "not running (" + .reason + "): " + .words end)]),
          (map(select(other)) | select(. != []) | ["others", (group_by(.reason)
            | map((map(.name) | join(", ")) + " (" + .[0].reason + ")") | join("; "))])
        | @tsv' "$work/status" | awk -F '\t' '{ printf "  %-14s %s\n", $1, $2 }'
}

# What a read of memory takes, and what it takes when the node is calm.
memory() {
    jq -r --slurpfile interference "$work/interference" --slurpfile status "$work/status" '
        ($interference[0].domains // [] | map({key: "\(.numa_node)", value: .}) | from_entries) as $nodes
        | $status[0].tick.interval_seconds as $interval
        | .[] | (if .from == .to then $nodes[.from] else null end) as $node
        | "memory, measured by the probe: NUMA node \(.from) reads node \(.to) in \(.ns) ns" + (
            if $node == null then ""
            elif $node.calm_ns then "; usual is \($node.calm_ns * 10 | round / 10), so \(
                .ns / $node.calm_ns * 100 | round / 100) times that"
            else "; what is usual is known in \([1, (60 - $node.readings) * $interval] | max | ceil) s"
            end)' <<<"$(probe)"
}

# What /metrics says of memory itself: [{"from": node, "to": node, "ns": latency}].
probe() {
    awk 'BEGIN { printf "[" }
    /^interference_memory_probe_latency_seconds\{/ {
        match($0, /initiator_numa_node="[0-9]+"/)
        from = substr($0, RSTART + 21, RLENGTH - 22)
        match($0, /target_numa_node="[0-9]+"/)
        to = substr($0, RSTART + 18, RLENGTH - 19)
        printf "%s{\"from\": \"%s\", \"to\": \"%s\", \"ns\": %.1f}", n++ ? ", " : "", from, to, $NF * 1e9
    }
    END { print "]" }' "$work/metrics"
}

# Who waits, by its own counters, and who makes memory slow, or that it is not known.
verdict() {
    jq -rn --slurpfile status "$work/status" --slurpfile containers "$work/containers" \
        --slurpfile interference "$work/interference" '
        def name: [.namespace, .pod, .container] | map(select(. != "")) | join("/");
        def value($name): .values["interference_container_memory_read_" + $name]
            | if type == "array" then .[0].value else . end;
        def ns: if . < 10 then . * 10 | round / 10 else round end;
        def some($of): if length > 3 then .[:3] + ["\(length - 3) \($of)"] else . end
            | if length > 1 then (.[:-1] | join(", ")) + " and " + .[-1] else .[0] end;
        # As much as above calm: a node where somebody is active all the time knows no calm.
        def of_excess($caused): if .excess_ns >= $caused then " of \(.excess_ns | ns) ns" else " ns" end;
        def cause($seconds): . as $d
            | if .state == "named" then
                "\([.aggressors[] | "\(name) causes \(.caused_ns | ns)"] | some("others"))\(
                    of_excess([.aggressors[].caused_ns] | add)), \(
                    if [.aggressors[] | .z >= 6 or (.p // 0) >= 0.97] | all then "sure" else "likely" end)"
              elif .state == "group" then
                "\([.groups[0].members[] | name] | some("others")) together cause \(
                    .groups[0].caused_ns | ns)\(of_excess(.groups[0].caused_ns)), unknown which of them"
              elif .state == "calm" then "as fast as in the last hour"
              elif .state == "suspected" then
                "unknown: \([.suspects[] | select(.why | contains("only be waiting") | not) | name]
                    | some("others")) suspected"
              elif .state == "unknown" and .by.host > 0 and .by.host * 2 >= .excess_ns then
                "unknown: no container; \(.by.host | ns) of \(.excess_ns | ns) ns go with processes of the host"
              elif .state == "unknown" then "unknown: nobody goes on and off with these \(.excess_ns | ns) ns"
              elif .state == "learning" then
                "who makes it slow: learning, \([1, (60 - .readings) * $seconds] | max | ceil) s left"
              else "who makes it slow: no reading of the latency yet" end;
        ($status[0].collectors[] | select(.name == "attribution")) as $collector
        | ([$containers[0].containers[] | select(.running)
            | value("latency_seconds") as $now | value("latency_baseline_seconds") as $normal
            | select($now != null and $normal != null and $now > (value("latency_threshold_seconds")
                // 1.25 * $normal)) | {name: name, ratio: ($now / $normal)}]
            | max_by(.ratio)) as $waits
        | ($interference[0].domains // []) as $domains
        | ($domains | max_by([.state == "named", .excess_ns // -1])) as $worst
        | (if $waits then "\($waits.name) waits \($waits.ratio * 100 | round / 100) times its normal"
           elif $worst.latency_ns then "memory\(if $domains | length > 1 then
                " of NUMA node \($worst.numa_node)" else "" end) takes \($worst.latency_ns | ns) ns\(
                if $worst.calm_ns then ", \($worst.calm_ns | ns) when calm" else "" end)"
           else null end) as $who
        | (if $collector.available | not then
              "who makes it slow is not measured (\($collector.reason))"
           elif $worst then $worst | cause($status[0].tick.interval_seconds)
           else "who makes it slow: no reading of the latency yet" end) as $cause
        | ($containers[0].costliest // "" | rtrimstr(".")) as $costliest
        | "now: " + ([$costliest, $who, $cause] | map(select(. != null and . != "")) | join("; "))'
}

# The container that its neighbours slow down most, or why there is none to name. The model passive
# counts only where there is no other; shares are of the time since the table before, or of all time
# when nothing happened since.
most_slowed() {
    jq -r --slurpfile before "$work/before" --slurpfile status "$work/status" '
        def list($name): .values[$name] // [] | if type == "array" then . else [] end;
        def of($name; $model): list("interference_container_" + $name)
            | map(select(.labels.model == $model));
        def lost($model; $resource): of("interference_cycles_total"; $model)
            | map(select(.labels.resource == $resource).value) | add // 0;
        def percent: . * 100 | round | "\(.) %";
        def name: [.namespace, .pod, .container] | map(select(. != "")) | join("/");
        ($before[0].containers | map({key: .container_id, value: .}) | from_entries) as $old
        | ($status[0].collectors[] | select(.name == "slowdown")) as $collector
        | .containers | map(select(.running))
        | ([.[] | list("interference_container_slowdown_ratio")[].labels.model] | unique
            | map(select(. != "passive"))[0] // "passive") as $model
        | (map(select(of("slowdown_ratio"; $model) != []))
            | max_by(of("slowdown_ratio"; $model)[0].value)) as $worst
        | if $worst then
            $worst | ($old[.container_id] // {values: {}}) as $earlier
            | of("slowdown_ratio"; $model)[0].value as $ratio
            | lost($model; "cache") as $all_cache | lost($model; "memory") as $all_memory
            | ($all_cache - ($earlier | lost($model; "cache"))) as $new_cache
            | ($all_memory - ($earlier | lost($model; "memory"))) as $new_memory
            | (if $new_cache + $new_memory > 0 then [$new_cache, $new_memory]
               else [$all_cache, $all_memory] end) as [$cache, $memory]
            | "most slowed: \(name) takes \($ratio * 100 | round / 100) times as long as alone (\($model)"
            + (if $cache + $memory > 0 then "; cache \($cache / ($cache + $memory) | percent), memory \(
                $memory / ($cache + $memory) | percent) of what it loses" else "" end) + ")"
          elif $collector.available | not then
            "most slowed: unknown, the collector slowdown is off (\($collector.reason))"
          else
            "most slowed: no estimate yet (" + ([.[] | list("slowdown_no_estimate")[].labels.reason]
                | group_by(.) | map("\(.[0]) \(length)") | join(", ")
                | if . == "" then "no containers" else . end) + ")"
          end' "$work/containers"
}

# The running containers, those in trouble first, then those that cause it; rates are of the time
# since the table before.
rows() {
    jq -r --slurpfile before "$work/before" --slurpfile interference "$work/interference" \
        --argjson seconds "$1" '
        # With labels of its own (basis), a value is a list of one.
        def value($name): .values["interference_container_" + $name]
            | if type == "array" then .[0].value else . end;
        def total($name): value($name + "_total");
        def name: [.namespace, .pod, .container] | map(select(. != "")) | join("/");
        def ns: if . < 10 then . * 10 | round / 10 else round end;
        ($before[0].containers | map({key: .container_id, value: .}) | from_entries) as $old
        | ([$interference[0].domains // [] | .[]
            | (.suspects[] | {key: .container_id, value: {caused: 0, mark: "<- suspect: \(.why)"}}),
              (.groups[] | .caused_ns as $ns | .members[] | {key: .container_id,
                  value: {caused: $ns, mark: "<- causes \($ns | ns) ns with others"}}),
              (.aggressors[] | {key: .container_id, value: {caused: .caused_ns,
                  mark: "<- causes \(.caused_ns | ns) ns, \(if .z >= 6 or (.p // 0) >= 0.97 then "sure" else "likely" end)"}})]
            | from_entries) as $who
        | .containers
        | map(select(.running) | . as $c | ($old[.container_id] // $c) as $o
            | value("memory_read_latency_seconds") as $latency
            | value("memory_read_latency_baseline_seconds") as $normal
            | (value("memory_read_latency_threshold_seconds") // (1.25 * ($normal // 0))) as $limit
            | (if $latency and $normal and $normal > 0 then $latency / $normal else null end) as $ratio
            | ($ratio != null and $latency > $limit) as $waits
            | $who[.container_id] as $by | {
            name: name, latency: $latency, normal: $normal, ratio: $ratio, waits: $waits,
            caused: $by.caused, cpus: .cpu_seconds_per_second,
            mark: ([(if $waits then "<- waits" else empty end), ($by.mark // empty)] | join(" ")),
            reads: (total("memory_reads") as $n | ($o | total("memory_reads")) as $m
                | if $n == null or $m == null or $seconds <= 0 then null
                  else ($n - $m) / $seconds end),
            ipc: (total("cpu_cycles") as $n | ($o | total("cpu_cycles")) as $m
                | total("cpu_instructions") as $i | ($o | total("cpu_instructions")) as $j
                | if $n == null or $m == null or $i == null or $j == null or $n <= $m then null
                  else ($i - $j) / ($n - $m) end) })
        | sort_by(if .waits then -.ratio else 0 end, -(.caused // -1), -(.ratio // 0),
            -(.cpus // 0), .name)[]
        | [.name, .latency, .normal, .ratio, .reads, .ipc, .cpus, .mark]
        | map(if . == null then "" else tostring end) | @tsv' "$work/containers"
}

# A column that nobody has a value for is left out.
table() {
    local room=20
    if [ -n "$terminal" ] && [ "${LINES:-0}" -gt 24 ]; then
        room=$((LINES - 15))
    fi
    [ -e "$work/before" ] || cp "$work/containers" "$work/before"
    most_slowed
    rows "$1" >"$work/rows"
    awk -F '\t' -v room="$room" '
        function short(name) {
            return length(name) > 48 ? substr(name, 1, 20) ".." substr(name, length(name) - 25) : name
        }
        function cell(i, v) {
            if (v == "")
                return "-"
            if (i == 5 && v >= 1e4)
                return v < 1e6 ? sprintf("%.0fk", v / 1e3) : sprintf("%.1fM", v / 1e6)
            return sprintf(form[i], v * scale[i])
        }
        BEGIN {
            split("CONTAINER|LATENCY ns|NORMAL ns|RATIO|READS/s|IPC|CPUS|", title, "|")
            split("|%.1f|%.1f|%.2f|%.0f|%.2f|%.2f|", form, "|")
            split("1 1e9 1e9 1 1 1 1 1", scale, " ")
            for (i = 1; i <= 7; i++)
                width[i] = length(at[0, i] = title[i])
        }
        NR <= room {
            for (i = 1; i <= NF; i++) {
                at[NR, i] = i == 1 ? short($i) : i == 8 ? $i : cell(i, $i)
                used[i] = used[i] || $i != ""
                if (length(at[NR, i]) > width[i])
                    width[i] = length(at[NR, i])
            }
        }
        END {
            for (row = 0; row <= NR && row <= room; row++) {
                printf "%-" width[1] "s", at[row, 1]
                for (i = 2; i <= 7; i++)
                    if (used[i])
                        printf "  %" width[i] "s", at[row, i]
                print at[row, 8] != "" ? "  " at[row, 8] : ""
            }
            if (NR == 0) print "(none)"
            if (NR > room) print "... and " NR - room " more"
        }' "$work/rows"
    cp "$work/containers" "$work/before"
}

screen() {
    verdict
    jq -r '"interference_exporter \(.version), source \(.source), \(.machine.cpus) CPUs, \(
        if .machine.microarchitecture == "" then "no supported PMU"
        else .machine.microarchitecture end)",
        if .source == "replay" then "REPLAY: nothing here was measured on this machine" else empty end' \
        "$work/status"
    if [ -n "$replays" ]; then
        echo "the demo's recording, run $replays${stack:+; $demo_words}"
        if [ -n "$skipped" ]; then
            echo "the $skipped s before, from which the exporter learned what is normal, were replayed at once"
        fi
    fi
    memory
    jq -r '.containers | "containers: \(.monitored) monitored, \(.lingering) ended lately, \(
        .excluded) excluded, \(.over_limit) over the limit"' "$work/status"
    table "$1"
    echo
    if [ -n "$stack" ]; then
        show_alerts
        echo
    fi
    echo "collectors:"
    collectors
    echo
    echo "the same in a browser: $url/"
    if [ -n "$stack" ]; then
        echo "alerts: $prometheus_url$alerts_page ('Show annotations' says what to do)"
        echo "dashboards, for a Grafana with data source $prometheus_url : dashboards/rendered/*.json"
    fi
    echo "for programs: $url/metrics $url/api/v1/status $url/api/v1/containers $url/api/v1/interference"
    echo "Ctrl-C ends it. The exporter's log: $log"
}

interval=5
terminal=
if [ -t 1 ]; then
    terminal=yes
    interval=2
    shopt -s checkwinsize
    (:) # lets bash look up LINES
fi
last=0
replays=${demo:+1}
for ((round = 1; ; round++)); do
    alive
    if [ -n "$demo" ] && fetch /api/v1/status status &&
        [ "$(jq .replay_ended "$work/status")" = true ]; then
        echo "the recording has ended and begins again"
        restart_exporter
        replays=$((replays + 1))
        last=0
    fi
    if fetch /api/v1/status status && fetch /api/v1/containers containers &&
        fetch /api/v1/interference interference && fetch /metrics metrics; then
        # Rates are over ticks, which is when the numbers change.
        now=$(jq '.tick.last_timestamp_seconds' "$work/status")
        seconds=$(jq -n "if $last > 0 then $now - $last else 0 end")
        last=$now
        if [ -n "$terminal" ]; then
            screen "$seconds" >"$work/screen"
            printf '\033[H\033[J'
            cat "$work/screen"
        else
            echo
            screen "$seconds"
        fi
    fi
    if [ "$rounds" -gt 0 ] && [ "$round" -ge "$rounds" ]; then
        exit 0
    fi
    pause "$interval"
done
