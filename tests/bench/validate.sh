#!/bin/bash
# Checks on this machine what the exporter claims of counters: tests/bench/validate.sh BUILD [RESULTS]
#
# collectors/VALIDATION.md says what each check is, what to expect, and what to send back. Takes half
# an hour (MINUTES=N for another length), as root, on a machine that is otherwise idle. Writes one
# file (default validation.txt) of "check name value" lines, without names of containers or hosts.
# Exit status: 0 all checks made and as expected; 1 some were not as expected; 3 some could not be
# made, with the reason in the file; 2 wrong usage.
set -uo pipefail
export LC_ALL=C
build=${1:-}
results=${2:-validation.txt}
minutes=${MINUTES:-30}
if [ ! -x "$build/interference_exporter" ]; then
    echo "usage: tests/bench/validate.sh BUILD [RESULTS]; BUILD holds interference_exporter" >&2
    exit 2
fi
exporter=$build/interference_exporter
hog=$build/programs/memory_hog
chase=$build/bench/bench_chase
part=${PART_SECONDS:-$((minutes * 60 / 8))} # five parts observe, the rest is starting them
work=$(mktemp -d)
page=$work/page
failed=0
missing=0
pids=()

say() { echo "$*" | tee -a "$results"; }
value() { say "value $1 ${2:-none}"; }
expect() { # NAME yes|no WORDS
    if [ "$2" = yes ]; then
        say "as-expected $1 $3"
    else
        say "unexpected $1 $3"
        failed=1
    fi
}
cannot() {
    say "not-made $1 $2"
    missing=1
}

# ---- cgroups of our own ----

hierarchy=
for mount in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/perf_event; do
    if [ -f "$mount/cgroup.procs" ]; then
        hierarchy=$mount
        break
    fi
done
group=$hierarchy/ie-validation-$$

# shellcheck disable=SC2317 # by the trap
cleanup() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    for name in chase hogs; do
        [ ! -d "$group/$name" ] || rmdir "$group/$name"
    done
    [ ! -d "$group" ] || rmdir "$group"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

in_group() { # NAME COMMAND...: in the background
    local name=$1
    shift
    mkdir -p "$group/$name"
    # shellcheck disable=SC2016 # the inner shell's own process
    sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group/$name" "$@" \
        >>"$work/$name.out" 2>>"$work/$name.err" &
    pids+=($!)
}
end_all() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}

# ---- the exporter ----

port=10166
ours='--containers.include=^//(chase|hogs)$'
start_exporter() { # FLAG...
    local try
    for try in 1 2 3; do
        port=$((port + 1))
        "$exporter" --web.listen-address=127.0.0.1:$port --containers.all-cgroups "$@" \
            2>"$work/log" &
        daemon=$!
        pids+=("$daemon")
        for _ in $(seq 100); do
            kill -0 "$daemon" 2>/dev/null || continue 2 # the port is somebody's
            ! curl -sf --max-time 2 "http://127.0.0.1:$port/-/ready" >/dev/null || return 0
            sleep 0.1
        done
    done
    cannot exporter "it did not start, try $try: $(tail -1 "$work/log")"
    exit 3
}
scrape() { curl -s --max-time 10 "http://127.0.0.1:$port/metrics" >"$page"; }
# Sum of a metric's samples whose labels contain the text; empty without any.
metric() { # NAME [LABELS]
    awk -v name="$1" -v labels="${2:-}" '
        $0 !~ /^#/ && (index($0, name "{") == 1 || index($0, name " ") == 1) && index($0, labels) {
            sum += $NF; n++ }
        END { if (n) printf "%.12g", sum }' "$page"
}
reason() { sed -n "s/.*collector_info{collector=\"$1\",reason=\"\([a-z_]*\)\"} 1/\1/p" "$page"; }
microarchitecture() { sed -n 's/.*source_info{.*microarchitecture="\([a-z0-9_-]*\)".*/\1/p' "$page"; }
calc() { awk "BEGIN { printf \"%.6g\", $1 }"; }
holds() { awk "BEGIN { exit !($1) }" && echo yes || echo no; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }

# ---- the machine ----

: >"$results"
say "validation 1"
value version "$("$exporter" --version | awk '{ print $2 }')"
value cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
value midr "$(cat /sys/devices/system/cpu/cpu0/regs/identification/midr_el1 2>/dev/null)"
value kernel "$(uname -r)"
value cpus "$(nproc)"
value nmi_watchdog "$(cat /proc/sys/kernel/nmi_watchdog 2>/dev/null || echo unknown)"
value pmu_name "$(cat /sys/bus/event_source/devices/cpu/caps/pmu_name 2>/dev/null || echo none)"
value hypervisor "$(grep -qw hypervisor /proc/cpuinfo && echo yes || echo no)"
cpus=$(nproc)
if [ "$(id -u)" -ne 0 ]; then
    cannot everything "needs root, for cgroups and counters"
    exit 3
fi
if [ -z "$hierarchy" ] || ! mkdir -p "$group/chase" "$group/hogs" 2>/dev/null; then
    cannot everything "no cgroup can be made"
    exit 3
fi
for program in "$hog" "$chase"; do
    if [ ! -x "$program" ]; then
        cannot everything "$(basename "$program") is not built: build with tests"
        exit 3
    fi
done

# One part: the chase runs on the first CPU, hogs on others; what the exporter says of the chase over
# the part's second half, beside what the chase says itself.
# COMMAND, if any, runs at half time; the page of that moment is kept.
observe() { # NAME [COMMAND]: waits for one part; sets truth, estimate (ns, empty if absent)
    local before_wait before_reads
    : >"$work/chase.out"
    in_group chase "$chase" $((part + 60)) 0 "${CHASE_MIB:-1024}"
    for _ in $(seq 600); do # until its buffer is made
        ! grep -q '^[0-9]' "$work/chase.out" || break
        sleep 0.1
    done
    sleep $((part / 2))
    [ $# -lt 2 ] || "$2"
    scrape
    cp "$page" "$work/half"
    before_wait=$(metric interference_container_memory_read_wait_seconds_total 'container="chase"')
    before_reads=$(metric interference_container_memory_read_latency_reads_total 'container="chase"')
    sleep $((part - part / 2))
    scrape
    grep -v huge "$work/chase.out" | tail -n $((part - part / 2)) >"$work/second"
    truth=$(median "$work/second")
    wait_seconds=$(metric interference_container_memory_read_wait_seconds_total 'container="chase"')
    reads=$(metric interference_container_memory_read_latency_reads_total 'container="chase"')
    estimate=
    if [ -n "$reads" ] && [ -n "$before_reads" ] && [ "$(holds "$reads > $before_reads")" = yes ]; then
        estimate=$(calc "($wait_seconds - $before_wait) / ($reads - $before_reads) * 1e9")
    fi
    value "$1.truth_ns" "$truth"
    value "$1.estimate_ns" "$estimate"
    value "$1.probe_ns" "$(metric interference_memory_probe_latency_seconds \
        'initiator_numa_node="0",target_numa_node="0"' | awk '{ printf "%.2f", $1 * 1e9 }')"
    value "$1.error_ratio" "$(metric interference_core_latency_error_ratio)"
}
judge() { # NAME BOUND: the estimate against what the chase measured itself
    if [ -z "$estimate" ]; then
        cannot "$1" "no latency: core_latency is $(reason core_latency)"
        return
    fi
    local error
    error=$(calc "($estimate - $truth) / $truth")
    value "$1.error" "$error"
    expect "$1" "$(holds "$error < $2 && $error > -$2")" "estimate within $2 of the truth"
}

# ---- 1 and 2: idle and loaded ----

start_exporter "$ours"
observe idle
for collector in core_latency slowdown imc_rpq pmm_rpq amd_l3 pebs_nvmm probe; do
    value "collector.$collector" "$(reason "$collector")"
done
judge idle 0.05
# On Arm's cores without a latency: a chase overlaps nothing, so that it stalls for most of each read.
stalls=$(metric interference_container_memory_stall_seconds_total 'container="chase"')
if [ -n "$stalls" ]; then
    got=$(calc "$stalls / $(metric interference_container_memory_stall_reads_total 'container="chase"') * 1e9")
    value idle.stall_ns "$got"
    expect stall "$(holds "$got > 0.5 * $truth && $got < 1.1 * $truth")" "a chase stalls for most of each read"
fi
l3_ns() { # mean over all L3s and sources
    local wait reads
    wait=$(metric interference_l3_miss_read_wait_seconds_total)
    reads=$(metric interference_l3_miss_read_latency_reads_total)
    [ -z "$reads" ] || [ "$(holds "$reads > 0")" != yes ] || calc "$wait / $reads * 1e9"
}
if [ -e /sys/bus/event_source/devices/amd_l3 ]; then
    got=$(l3_ns)
    truth=$(sed -n 's/^value idle\.truth_ns //p' "$results")
    if [ -n "$got" ] && [ -n "$truth" ]; then
        value idle.l3_ns "$got"
        expect l3 "$(holds "$got < $truth && $got > 0.3 * $truth")" "a miss of the L3 takes less than the whole read, and most of it"
    else
        cannot l3 "amd_l3 is $(reason amd_l3)"
    fi
fi
sanity() {
    local reads occupancy active cycles
    reads=$(metric interference_container_memory_reads_total 'container="chase"')
    occupancy=$(metric interference_container_memory_read_occupancy_cycles_total 'container="chase"')
    active=$(metric interference_container_memory_read_active_cycles_total 'container="chase"')
    cycles=$(metric interference_container_cpu_cycles_total 'container="chase"')
    if [ -z "$reads" ] || [ -z "$occupancy" ] || [ "$reads" = 0 ]; then
        cannot events "the counters of memory reads count nothing here"
        return
    fi
    value events.occupancy_per_read "$(calc "$occupancy / $reads")"
    expect events.occupancy "$(holds "$occupancy >= $reads")" "at least one cycle a read"
    if [ -n "$active" ]; then
        expect events.active "$(holds "$active <= 1.01 * $cycles")" "active cycles within cycles"
        # A chase has one read in flight: both count the same cycles.
        expect events.single "$(holds "$occupancy < 1.1 * $active && $active < 1.1 * $occupancy")" \
            "occupancy equals active cycles where one read is in flight"
    else
        cannot events.active "not counted on this CPU"
    fi
}
sanity
end_all

if [ "$cpus" -ge 2 ]; then
    start_exporter "$ours"
    for cpu in $(seq 1 $((cpus - 1))); do
        in_group hogs "$hog" stream "$cpu"
    done
    observe loaded
    judge loaded 0.15
    value loaded.imc_read_ns "$(metric interference_imc_read_latency_seconds | awk '{ print $1 * 1e9 }')"
    value loaded.l3_ns "$(l3_ns)"
    end_all
else
    cannot loaded "needs two CPUs"
fi

# ---- 3: CAS counts against the bandwidth that resctrl monitors ----

bandwidth() {
    local total=0 file
    for file in /sys/fs/resctrl/mon_data/mon_L3_*/mbm_total_bytes; do
        total=$((total + $(cat "$file")))
    done
    echo $total
}
events=$(find /sys/bus/event_source/devices -maxdepth 1 -name 'uncore_imc_[0-9]*' 2>/dev/null | sort)
if ! command -v perf >/dev/null; then
    cannot traffic "perf is not installed"
elif [ -z "$events" ] || ! compgen -G '/sys/fs/resctrl/mon_data/mon_L3_*/mbm_total_bytes' >/dev/null; then
    cannot traffic "needs the memory controllers' PMUs and resctrl's monitoring (mount -t resctrl)"
else
    in_group hogs "$hog" stream $((cpus - 1))
    sleep 2
    before=$(bandwidth)
    counts=$(perf stat -a -x, -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/ \
        sleep 10 2>&1 | awk -F, '{ sum += $1 } END { printf "%.0f", sum }')
    after=$(bandwidth)
    end_all
    value traffic.cas_bytes "$(calc "$counts * 1048576")" # perf scales these events to MiB
    value traffic.resctrl_bytes "$((after - before))"
    expect traffic "$(holds "$counts * 1048576 > 0.7 * ($after - $before) && $counts * 1048576 < 1.5 * ($after - $before)")" \
        "the controllers and resctrl count the same traffic"
fi

# A unit mask of two bits counts what both bits count: imc_rpq counts two pseudo-channels so.
case $(microarchitecture) in
icx | spr | emr) masks="0x03 0x01 0x02" ;;
gnr) masks="0x30 0x10 0x20" ;;
*) masks= ;;
esac
if [ -z "$masks" ] || [ -z "$events" ] || ! command -v perf >/dev/null; then
    cannot inserts "needs perf and a memory controller with pseudo-channels"
else
    in_group hogs "$hog" stream $((cpus - 1))
    sleep 2
    list=
    for mask in $masks; do list+="${list:+,}uncore_imc_0/event=0x10,umask=$mask/"; done
    counts=$(perf stat -a -x, -e "$list" sleep 5 2>&1 | awk -F, '$1 ~ /^[0-9]+$/ { printf "%s ", $1 }')
    end_all
    read -r both first second <<<"$counts"
    sum=$((${first:-0} + ${second:-0}))
    value inserts.both "${both:-}"
    value inserts.sum "$sum"
    if [ "$sum" = 0 ]; then
        cannot inserts "the first memory controller has no traffic"
    else
        expect inserts "$(holds "${both:-0} > 0.98 * $sum && ${both:-0} < 1.02 * $sum")" \
            "a unit mask of two bits counts the sum of both"
    fi
fi

# ---- 4: multiplexing and starvation ----

share() { # COLLECTOR
    local running enabled
    running=$(metric interference_exporter_pmu_running_seconds_total "collector=\"$1\"")
    enabled=$(metric interference_exporter_pmu_enabled_seconds_total "collector=\"$1\"")
    [ -n "$enabled" ] && [ "$(holds "$enabled > 0")" = yes ] && calc "$running / $enabled"
}
start_exporter "$ours"
observe alone
for collector in core_latency probe imc_rpq pmm_rpq amd_l3; do
    got=$(share "$collector")
    if [ -z "$got" ]; then
        cannot "share.$collector" "it counts nothing here"
        continue
    fi
    value "share.$collector" "$got"
    least=0.95
    # Groups of the memory controllers take turns by design: a queue and another one, or the counts
    # of traffic; on Granite Rapids those of two subchannels.
    case $collector in
    imc_rpq | pmm_rpq)
        least=0.45
        if [ "$(microarchitecture)" = gnr ]; then least=0.2; fi
        ;;
    amd_l3) least=0.7 ;; # four pairs on six counters
    esac
    expect "share.$collector" "$(holds "$got > $least")" "its groups take no more turns than they must"
done
end_all
if command -v perf >/dev/null && perf stat -a -e cycles sleep 0.1 >/dev/null 2>&1; then
    start_exporter "$ours"
    perf stat -a -e cycles,instructions,cache-references,cache-misses,branches,branch-misses,L1-dcache-load-misses,LLC-load-misses \
        sleep $((part + 60)) >/dev/null 2>&1 &
    pids+=($!)
    observe beside_perf
    value beside_perf.share "$(share core_latency)"
    got=$(share probe)
    value beside_perf.probe_share "$got"
    [ -z "$got" ] || expect beside_perf.probe "$(holds "$got > 0.95")" "the probe's group is pinned"
    value beside_perf.starved "$(metric interference_exporter_windows_discarded_total 'reason="starved"')"
    judge beside_perf 0.1
    end_all
else
    cannot beside_perf "perf is not installed or counts nothing"
fi

# ---- 5: turbo: spinning neighbours lower the frequency, not the latency ----

# shellcheck disable=SC2317 # observe runs it
spin() {
    for cpu in $(seq 1 $((cpus - 1))); do
        in_group hogs "$hog" compute "$cpu"
    done
}
since_half() { # METRIC: how much it rose; empty where it was not there
    local before after
    before=$(page=$work/half metric "$1" 'container="chase"')
    after=$(metric "$1" 'container="chase"')
    [ -z "$before" ] || [ -z "$after" ] || calc "$after - $before"
}
if [ "$cpus" -ge 2 ]; then
    start_exporter # of all cgroups: while some are left out, nothing is calm
    observe spinning spin
    judge spinning 0.05
    cycles=$(page=$work/half metric interference_container_cpu_cycles_total 'container="chase"')
    if [ -n "$cycles" ] && [ -n "$estimate" ]; then
        value spinning.clock_alone "$(calc "$cycles / $(page=$work/half metric \
            interference_container_cpu_reference_cycles_total 'container="chase"')")"
        value spinning.clock "$(calc "$(since_half interference_container_cpu_cycles_total) / \
            $(since_half interference_container_cpu_reference_cycles_total)")"
    fi
    over=$(since_half interference_container_memory_read_latency_over_threshold_seconds_total)
    value spinning.over_threshold_seconds "$over"
    if [ -n "$over" ]; then
        expect spinning.threshold "$(holds "$over < 0.1 * $part / 2")" \
            "not above the threshold, which it had before"
    else
        cannot spinning.threshold "it had no threshold at half time"
    fi
    end_all
else
    cannot spinning "needs two CPUs"
fi

say "end failed=$failed missing=$missing"
[ "$failed" -eq 0 ] || exit 1
[ "$missing" -eq 0 ] || exit 3
exit 0
