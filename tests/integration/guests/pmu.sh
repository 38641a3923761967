#!/bin/sh
# A machine with a PMU that counts: what containers do, beside counters of their own. Of the files,
# /plan says which of the functions below are run.

export results=/dev/ttyS0
# shellcheck source=/dev/null
. /common.sh
# Without the tool that bounds capabilities, which is a library's of another architecture.
as() {
    shift
    exec "$@"
}
cgroups=/sys/fs/cgroup

# Else the kernel counts no cgroup.
controllers() {
    echo +cpu >$cgroups/cgroup.subtree_control
}

# counting SOURCE FLAG...
counting() {
    source=$1
    shift
    serve "${interval:-1s}" all "--source=$source" --containers.all-cgroups "$@"
}

# made NAME...: a container's cgroup, below the source's own; what a runtime does next takes it
# longer.
made() {
    for name in "$@"; do
        mkdir -p "$cgroups/$source/$name"
    done
    sleep 0.01
}

# work NAME WORK...: in the container; what it counted goes to the results.
work() {
    container=$1
    shift
    counted "${counters:-in}" "$cgroups/$source/$container" "${container##*/}" "$@" >>/tmp/own
}

own() {
    step "own.$1" cat /tmp/own
    rm -f /tmp/own
}

counts() {
    made alone
    work alone spin 100000000
    made task
    counters=alone work task spin 300000000
    made old
    sleep 2
    work old spin 50000000
    made fifty sixty
    mkfifo /tmp/one /tmp/other
    work fifty turns 1 100 250000 /tmp/one /tmp/other &
    work sixty turns 0 100 250000 /tmp/other /tmp/one
    wait $!
    made left right
    work left spin 100000000 &
    work right spin 50000000
    wait $!
    made family/child
    work family/child spin 50000000
    work family spin 50000000
    made forks threads
    work forks forks 10 4000000
    work threads threads 4 10000000
    rm /tmp/one /tmp/other
    next_tick
    next_tick
    step "page.$source" get /metrics
    own "$source"
}

exact() {
    controllers
    for how in perf bpf; do
        counting $how
        counts
        end_serving "log.$how"
    done
}

# beside COUNTERS WHAT: until end_beside
beside() {
    counted beside "$1" "$2" &
    others=$!
    sleep 0.1
}

end_beside() {
    kill "$others"
    wait "$others"
}

# Twelve events of another program take turns with ours for 15 s; then one has all counters.
shared() {
    controllers
    for how in perf bpf; do
        counting $how
        made turns held
        beside 12 turns
        work turns spin 937500000
        next_tick
        end_beside
        step "page.shared.$how" get /metrics
        beside 7 all
        work held spin 500000000
        next_tick
        step "page.held.$how" get /metrics
        step "status.held.$how" get /api/v1/status
        end_beside
        work held spin 62500000
        next_tick
        next_tick
        step "page.free.$how" get /metrics
        own "shared.$how"
        end_serving "log.shared.$how"
    done
}

# Four containers on two CPUs, which wander; one of the CPUs goes and comes back meanwhile.
hotplug() {
    controllers
    interval=300ms
    for how in perf bpf; do
        counting $how
        made a b c d
        for name in a b c d; do
            work "$name" wander 24 25000000 &
        done
        for look in 1 2 3 4 5 6; do
            case $look in
            2) echo 0 >/sys/devices/system/cpu/cpu1/online ;;
            4) echo 1 >/sys/devices/system/cpu/cpu1/online ;;
            esac
            next_tick
            step "page.hotplug.$how.$look" get /metrics
        done
        wait_for ended
        next_tick
        next_tick
        step "page.hotplug.$how.7" get /metrics
        for name in a b c d; do
            step "usage.$how.$name" grep usage_usec "$cgroups/$how/$name/cpu.stat"
        done
        end_serving "log.hotplug.$how"
    done
}

ended() {
    [ "$(wc -l </tmp/own)" -ge 4 ] && rm /tmp/own
}

# An exporter that starts, and starts again, while a container runs; then 200 that begin and end.
restarts() {
    controllers
    for how in perf bpf; do
        made() {
            mkdir -p "$cgroups/$how/$1"
        }
        made hot
        source=$how
        counted alone "$cgroups/$how/hot" hot spin 1500000000 >>/tmp/own &
        hot=$!
        sleep 1
        kill -USR1 $hot
        counting $how --state.file=/tmp/state
        sleep 1
        kill_serving "log.first.$how"
        sleep 1
        kill -USR1 $hot
        # It takes this machine a tenth of a second to read what 200 wait for: in such a tick, one of
        # them may come and go, and is not seen.
        counting $how --state.file=/tmp/state --no-collector.lost_time
        wait $hot
        next_tick
        next_tick
        step "page.hot.$how" get /metrics
        own "hot.$how"
        for n in $(seq 200); do
            made "many$n"
            work "many$n" spin 2000000
        done
        next_tick
        next_tick
        step "page.many.$how" get /metrics
        own "many.$how"
        end_serving "log.many.$how"
    done
}

# Counters of 32 bits, which run over.
narrow() {
    controllers
    for how in perf bpf; do
        counting $how
        made long
        work long spin 4600000000
        next_tick
        next_tick
        step "page.long.$how" get /metrics
        own "long.$how"
        end_serving "log.long.$how"
    done
}

# The probe reads memory, of which no event here counts anything.
filtered() {
    controllers
    serve 1s all --source=perf --collector.probe
    container=$cgroups/kubepods/pod11111111-2222-3333-4444-555555555555/$id
    mkdir -p "$container"
    # Without counters of its own: the group takes all seven.
    (
        echo 0 >"$container/cgroup.procs"
        exec counted spin 2000000000
    ) &
    cart=$!
    wait_for shown 'reason="event_filtered"'
    next_tick
    step page.filtered get /metrics
    kill $cart
    end_serving log.filtered
}
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# Nothing enabled a controller.
bare() {
    mkdir $cgroups/first
    for how in perf auto; do
        counting $how
        made naked
        counters=alone work naked spin 10000000
        next_tick
        step "page.bare.$how" get /metrics
        step "status.bare.$how" get /api/v1/status
        own "bare.$how"
        end_serving "log.bare.$how"
    done
}

# shellcheck source=/dev/null
. /plan
finish
