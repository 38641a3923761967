#!/bin/sh
# What the scripts of guests share; each is the first process of a virtual machine.

export PATH=/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
results=${results:-/dev/ttyS1}
stty -F "$results" raw -echo

# step NAME COMMAND...: its output and status are the test's to judge. Outside of steps output goes
# to the console, which is shown when something is wrong.
step() {
    step_name=$1
    shift
    "$@" >/tmp/step 2>&1
    step_status=$?
    {
        echo "@begin $step_name"
        cat /tmp/step
        echo
        echo "@end $step_name $step_status"
    } >"$results"
}

finish() {
    echo "@done" >"$results"
    sync
    poweroff -f
}

# must COMMAND...: what the steps rely on. Its failure ends the guest, which the test sees.
must() {
    "$@" && return
    echo "failed: $*"
    poweroff -f
}

seconds() {
    cut -d. -f1 /proc/uptime
}

# Five minutes are enough for anything here. False when they were not.
await() {
    deadline=$(($(seconds) + 300))
    until "$@"; do
        [ "$(seconds)" -lt "$deadline" ] || return
        sleep 0.2
    done
}

wait_for() {
    await "$@" && return
    cat /tmp/log
    must false "$@"
}

# ---- the exporter, one at a time ----

get() {
    wget -q -O - "http://127.0.0.1:10066$1"
}

ready() {
    get /-/ready >/dev/null 2>&1
}

# As root with these capabilities and no others: as "CAPABILITIES" COMMAND...
# It becomes the command, so that its process is that. (busybox's own setpriv has no bounding set.)
as() {
    list=-all
    for capability in $1; do
        list=$list,+$capability
    done
    shift
    exec /sbin/setpriv --inh-caps -all --bounding-set "$list" "$@"
}

# serve INTERVAL "CAPABILITIES" FLAG...: until end_serving; its log is in /tmp/log.
serve() {
    interval=$1
    serve_as=$2
    shift 2
    (
        as "$serve_as" interference_exporter --web.listen-address=127.0.0.1:10066 \
            --containers.names=none --no-collector.probe "--sampling.interval=$interval" "$@"
    ) >/tmp/log 2>&1 &
    exporter=$!
    wait_for ready
}

end_serving() {
    must kill "$exporter"
    wait "$exporter"
    step "$1" cat /tmp/log
}

# As if for want of memory.
kill_serving() {
    must kill -9 "$exporter"
    wait "$exporter"
    step "$1" cat /tmp/log
}

ticks() {
    get /metrics | sed -n 's/^interference_exporter_ticks_total //p'
}

ticked() {
    [ "$(ticks)" -gt "$tick" ]
}

# Until a tick that began after this call is published.
next_tick() {
    tick=$(($(ticks) + 1))
    wait_for ticked
}

# shown TEXT: on the exporter's page
shown() {
    get /metrics | grep -qF "$1"
}
