#!/bin/sh
# A machine of Debian's kernel with nothing to it: no PMU, no persistent memory, cgroup v2 only.
# /events.json has uprobes on functions of /bin/uprobe_roles for roles, /software.json has events
# that take no more privilege than hardware's.

# shellcheck source=/dev/null
. /common.sh

id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
container=/sys/fs/cgroup/kubepods/burstable/pod11111111-2222-3333-4444-555555555555/$id
mkdir -p "$container/child"

step untouched interference_exporter --once --source=perf --events.file=/events.json \
    --no-collector.probe --containers.names=none --sampling.interval=300ms
echo +memory >/sys/fs/cgroup/cgroup.subtree_control

for unit in test_sampler test_perf_kernel test_process_code test_pmem; do
    step "unit.$unit" "$unit"
done

# in_group DIRECTORY COMMAND...
in_group() {
    (
        cd "$1" || exit 1
        shift
        # The subshell's own process, under which number the kernel knows it.
        echo 0 >cgroup.procs
        exec "$@"
    )
}
serve 300ms all --source=perf --events.file=/events.json
wait_for shown 'containers{state="monitored"} 1'
must in_group "$container/child" uprobe_roles 0:cycles=1234,l3_miss_reads=77 1:cycles=321
must uprobe_roles 0:cycles=5000
next_tick
step page get /metrics
rmdir "$container/child" "$container"
wait_for shown 'containers{state="lingering"} 1'
next_tick
step page.ended get /metrics
end_serving log

# The same by a program in the kernel; a CPU that goes and comes again; an end without notice.
mkdir -p "$container/child"
serve 300ms "perfmon bpf sys_admin" --source=bpf --events.file=/events.json
wait_for shown 'containers{state="monitored"} 1'
must in_group "$container/child" uprobe_roles 0:cycles=1234,l3_miss_reads=77 1:cycles=321
must uprobe_roles 0:cycles=5000
next_tick
step bpf.page get /metrics
step bpf.loaded bpftool prog
echo 0 >/sys/devices/system/cpu/cpu1/online
next_tick
must in_group "$container/child" uprobe_roles 0:cycles=10
echo 1 >/sys/devices/system/cpu/cpu1/online
next_tick
next_tick
must in_group "$container/child" uprobe_roles 1:cycles=7
# Away and back before a tick can have noticed, mostly.
next_tick
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
next_tick
next_tick
must in_group "$container/child" uprobe_roles 1:cycles=5
rmdir "$container/child" "$container"
wait_for shown 'containers{state="lingering"} 1'
next_tick
step bpf.ended get /metrics
kill_serving bpf.log
unloaded() {
    ! bpftool prog | grep -q -e on_switch -e flush
}
await unloaded
step bpf.killed bpftool prog

# bpf_as UNPRIVILEGED "CAPABILITIES"
bpf_as() (
    echo "$1" >/proc/sys/kernel/unprivileged_bpf_disabled
    as "$2" interference_exporter --once --source=bpf --events.file=/software.json \
        --no-collector.probe --containers.names=none --sampling.interval=100ms
)
echo 2 >/proc/sys/kernel/perf_event_paranoid
step bpf.permission.2.bpf bpf_as 2 "perfmon bpf"
step bpf.permission.2.none bpf_as 2 "perfmon"
step bpf.permission.1.none bpf_as 1 "perfmon"

# What it takes to count, by the kernel's setting: Debian's own is 3.
once_as() (
    as "$1" interference_exporter --once --source=perf --events.file=/software.json \
        --no-collector.probe --containers.names=none --sampling.interval=100ms
)
for paranoid in 3 2; do
    echo $paranoid >/proc/sys/kernel/perf_event_paranoid
    for capability in sys_admin perfmon sys_ptrace; do
        step "permission.$paranoid.$capability" once_as $capability
    done
done

# Quotas of v2 under the governor, which acts on a recording in which cart waits after a while.
quota=/sys/fs/cgroup/batch-0/cpu.max
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir -m 700 /sys/fs/cgroup/cart /sys/fs/cgroup/batch-0 /sys/fs/cgroup/batch-1 /tmp/governor
set -- --config.file=/governor.json --path.cgroupfs=/sys/fs/cgroup
has() {
    [ "$(cat $quota)" = "$1" ]
}
throttled() {
    ! grep -q 'nr_throttled 0' /sys/fs/cgroup/batch-0/cpu.stat
}
was_reset() {
    wget -q -O - http://127.0.0.1:10067/metrics | grep -q 'foreign.*cpu.*reset"} 1'
}
serve 100ms "" --source.replay.file=/governor.jsonl
interference_governor "$@" --enforce --allow-replay >/tmp/governor.log 2>&1 &
acts=$!
await has "100000 100000" || cat /tmp/governor.log
step quota.held cat $quota
for _ in 1 2; do
    in_group /sys/fs/cgroup/batch-0 yes >/dev/null &
done
wait_for throttled
step quota.throttled cat /sys/fs/cgroup/batch-0/cpu.stat
echo max >$quota
wait_for was_reset
wait_for has "100000 100000"
step quota.page wget -q -O - http://127.0.0.1:10067/metrics
must kill -9 $acts
wait $acts
step quota.killed cat $quota
step quota.restore interference_governor "$@" --restore
step quota.restored cat $quota
echo 1 >/sys/fs/cgroup/batch-0/cgroup.kill
end_serving quota.log
finish
