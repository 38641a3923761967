#!/bin/sh
# A machine of Debian's kernel with nothing to it: no PMU, no persistent memory, cgroup v2 only.
# /events.json has uprobes on functions of /bin/uprobe_roles for roles, /software.json has events
# that take no more privilege than hardware's.

# shellcheck source=/dev/null
. /common.sh
mount -t securityfs none /sys/kernel/security
step lockdown cat /sys/kernel/security/lockdown

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

# A node's systemd: it has processes and mounts of its own, and the cgroups below /node.
mkdir -p /run /sys/fs/cgroup/node /tmp/units
for unit in ie basic sysinit shutdown; do
    echo "[Unit]" >/tmp/units/$unit.target
done
# In quotes it is expanded by the shell that it is for.
# shellcheck disable=SC2016
unshare -m -p -f --mount-proc sh -c '
    echo 0 >/sys/fs/cgroup/node/cgroup.procs
    mount -t tmpfs run /run
    exec env -i container=ie PATH="$PATH" SYSTEMD_UNIT_PATH=/tmp/units: \
        systemd --system --unit=ie.target --log-target=console' &
in_node() {
    nsenter -t "$(pidof systemd)" -m -p "$@"
}
runs() {
    in_node systemctl is-system-running >/dev/null 2>&1
}
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
wait_for runs

# Containers as the kubelet makes them with the cgroup driver systemd: one without a limit, and one
# with a limit of both CPUs.
slice=kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice
pod=/sys/fs/cgroup/node/kubepods.slice/kubepods-burstable.slice/$slice
reloaded=cri-containerd-a${id#0}.scope
resized=cri-containerd-b${id#0}.scope
# scope NAME QUOTA
scope() {
    in_node systemd-run --quiet --scope --slice=$slice --unit="$1" -p CPUWeight=4 \
        -p "CPUQuota=$2" sleep 3600 &
    wait_for test -e "$pod/$1/cpu.max"
}
scope "$reloaded" ""
scope "$resized" 200%

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

# What it writes when it is reloaded, with nobody to answer.
# has CGROUP CPU.MAX
has() {
    [ "$(cat "/sys/fs/cgroup/$1/cpu.max")" = "$2" ]
}
pod=${pod#/sys/fs/cgroup/}
echo 100000 >"/sys/fs/cgroup/$pod/$reloaded/cpu.max"
step reload.before cat "/sys/fs/cgroup/$pod/$reloaded/cpu.max"
must in_node systemctl daemon-reload
wait_for has "$pod/$reloaded" "max 100000"

# Quotas of v2 under the governor, which acts on a recording in which cart waits after a while.
mkdir -m 700 /sys/fs/cgroup/cart /sys/fs/cgroup/batch /tmp/governor /tmp/exporter
set -- --config.file=/governor.json --state-directory=/tmp/governor --path.cgroupfs=/sys/fs/cgroup
throttled() {
    ! grep -q 'nr_throttled 0' /sys/fs/cgroup/batch/cpu.stat
}
governor_page() {
    wget -q -O - http://127.0.0.1:10067/metrics
}
# foreign KIND COUNT
foreign() {
    governor_page | grep -qF "foreign_writes_total{actuator=\"cpu\",kind=\"$1\"} $2"
}
serve 100ms "" --source.replay.file=/governor.jsonl --web.listen-address=unix:/tmp/exporter/socket
interference_governor "$@" --enforce --allow-replay >/tmp/governor.log 2>&1 &
acts=$!
held="10000 10000"
for cgroup in batch "$pod/$reloaded" "$pod/$resized"; do
    await has "$cgroup" "$held" || cat /tmp/governor.log
done
step quota.held cat /sys/fs/cgroup/batch/cpu.max
for _ in 1 2; do
    in_group /sys/fs/cgroup/batch yes >/dev/null &
done
wait_for throttled
step quota.throttled cat /sys/fs/cgroup/batch/cpu.stat

# systemd's own values are back after a reload, and are answered.
must in_node systemctl daemon-reload
wait_for foreign reset 2
wait_for has "$pod/$reloaded" "$held"
wait_for has "$pod/$resized" "$held"
# Other values are new originals, up to the third, which is nobody's but systemd's.
for changes in 1 2 3; do
    must in_node systemctl set-property --runtime "$resized" "CPUQuota=1${changes}0%"
    wait_for foreign changed "$changes"
done
step quota.page governor_page
# One reset after the other, until there were too many.
for resets in 3 4 5 6 7; do
    must in_node systemctl daemon-reload
    wait_for foreign reset "$resets"
    wait_for has "$pod/$reloaded" "$held"
done
must in_node systemctl daemon-reload
wait_for foreign reset 8
step quota.yielded governor_page
step quota.left cat "/sys/fs/cgroup/$pod/$reloaded/cpu.max" "/sys/fs/cgroup/$pod/$resized/cpu.max"

must kill -9 $acts
wait $acts
step quota.killed cat /sys/fs/cgroup/batch/cpu.max
step quota.restore interference_governor "$@" --restore
step quota.restored cat /sys/fs/cgroup/batch/cpu.max
echo 1 >/sys/fs/cgroup/batch/cgroup.kill
end_serving quota.log
finish
