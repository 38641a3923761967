#!/bin/sh
# A machine with persistent memory of every kind, each known by its size in MiB:
# 64, 72 and 320 set aside on the kernel's command line, 48, 56 and 32 as NVDIMMs.

# shellcheck source=/dev/null
. /common.sh
# shellcheck disable=SC3045 # busybox has it
ulimit -n 1048576 # as the service has

# On a kernel of Debian's that is not locked down: guests/plain.sh has one that is.
step unit.test_bpf_switches test_bpf_switches

step node.none pmem node
must modprobe nfit
step node.modules pmem node
must modprobe nd_pmem
step node.raw pmem node
for module in nd_e820 nd_btt dax_pmem device_dax dm_mod overlay xfs; do
    must modprobe "$module"
done
nd=/sys/bus/nd

# The number that region, namespace and disk of a size have in common.
number_of_size() {
    for region in "$nd"/devices/region*; do
        [ "$(cat "$region/size")" = $(($1 << 20)) ] && echo "${region##*region}" && return
    done
    return 1
}

# What ndctl create-namespace does: claim NUMBER pfn|dax|btt DRIVER
claim() {
    namespace=namespace$1.0
    seed=$(cat "$nd/devices/region$1/$2_seed")
    echo "$namespace" >"$nd/drivers/nd_pmem/unbind"
    cat /proc/sys/kernel/random/uuid >"$nd/devices/$seed/uuid"
    if [ "$2" = btt ]; then
        echo 4096 >"$nd/devices/$seed/sector_size"
    else
        echo 4096 >"$nd/devices/$seed/align"
        echo ram >"$nd/devices/$seed/mode"
    fi
    echo "$namespace" >"$nd/devices/$seed/namespace"
    echo "$seed" >"$nd/drivers/$3/bind"
}

file() {
    must dd if=/dev/zero of="$1" bs=4096 count=64 2>/dev/null
}

# file_system DEVICE DIRECTORY OPTIONS: with a file in it
file_system() {
    mkdir -p "$2"
    must mkfs.ext4 -q -F -b 4096 "$1" >/dev/null
    must mount -t ext4 -o "$3" "$1" "$2"
    file "$2/file"
}


number=$(number_of_size 64) && legacy=/dev/pmem$number
number=$(number_of_size 72) && parted=/dev/pmem$number
number=$(number_of_size 320) && large=/dev/pmem$number
number=$(number_of_size 48) && must claim "$number" dax dax_pmem
device=dax$number.0
number=$(number_of_size 56) && must claim "$number" pfn nd_pmem
fsdax=/dev/pmem$number
number=$(number_of_size 32) && must claim "$number" btt nd_pmem
sector=/dev/pmem${number}s
step node pmem node

# Two partitions: from sector 2048, 32 MiB each.
printf '\000\000\000\000\203\000\000\000\000\010\000\000\000\000\001\000\000\000\000\000\203\000\000\000\000\010\001\000\000\000\001\000' |
    must dd of="$parted" bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\125\252' | must dd of="$parted" bs=1 seek=510 conv=notrunc 2>/dev/null
must blockdev --rereadpt "$parted"
must dmsetup create --noudevsync over_part --table "0 65536 linear ${parted}p2 0"
must dmsetup create --noudevsync over_sector --table "0 32768 linear $sector 0"
over_part=/dev/dm-0
over_sector=/dev/dm-1

file_system "$legacy" /mnt/legacy dax=inode
mkdir /mnt/legacy/dax
must chattr +x /mnt/legacy/dax
file /mnt/legacy/dax/file
must mkfs.xfs -q -m reflink=0 "$large"
mkdir /mnt/xfs
must mount -t xfs "$large" /mnt/xfs
file /mnt/xfs/file
mkdir /mnt/xfs/dax
must chattr +x /mnt/xfs/dax
file /mnt/xfs/dax/file
file_system "${parted}p1" /mnt/part dax=always
file_system "$over_part" /mnt/over_part dax=always
file_system "$over_sector" /mnt/over_sector defaults
file_system "$fsdax" /mnt/fsdax dax=always
umount /mnt/fsdax
must mkdir /mnt/part/lower /mnt/part/upper /mnt/part/work /mnt/merged /mnt/bound
file /mnt/part/lower/file
must mount -t overlay -o lowerdir=/mnt/part/lower,upperdir=/mnt/part/upper,workdir=/mnt/part/work \
    overlay /mnt/merged
must mount --bind /mnt/part /mnt/bound
file /tmp/file

IFS=: read -r major minor <"/sys/bus/dax/devices/$device/dev"
must mknod /tmp/device c "$major" "$minor"
step rules pmem rule \
    file_with_flag "store_pages /mnt/legacy/dax/file shared 64 mov8" \
    file_without_flag "store_pages /mnt/legacy/file shared 64 mov8" \
    xfs_file_with_flag "store_pages /mnt/xfs/dax/file shared 64 mov8" \
    xfs_file_without_flag "store_pages /mnt/xfs/file shared 64 mov8" \
    file_in_partition "store_pages /mnt/part/file shared 64 mov8" \
    file_bound "store_pages /mnt/bound/file shared 64 mov8" \
    file_private "store_pages /mnt/part/file private 64 mov8" \
    file_readonly "store_pages /mnt/part/file readonly 64 load8" \
    file_deleted "exec 3<>/mnt/part/deleted; cat /tmp/file >&3; rm /mnt/part/deleted
                   exec store_pages /proc/self/fd/3 shared 64 mov8" \
    file_in_overlay "store_pages /mnt/merged/file shared 64 mov8" \
    file_over_partition "store_pages /mnt/over_part/file shared 64 mov8" \
    file_over_sector "store_pages /mnt/over_sector/file shared 64 mov8" \
    file_in_namespace "exec unshare -m sh -c 'mount -t ext4 -o dax=always $fsdax /mnt/fsdax &&
                        exec store_pages /mnt/fsdax/file shared 64 mov8'" \
    file_gone_from_sight "mount -t ext4 -o dax=always $fsdax /mnt/fsdax
    exec 3<>/mnt/fsdax/file; umount -l /mnt/fsdax; exec store_pages /proc/self/fd/3 shared 64 mov8" \
    device "store_pages /dev/$device shared 64 mov8" \
    device_readonly "store_pages /dev/$device readonly 64 load8" \
    device_by_other_node "store_pages /tmp/device shared 64 mov8" \
    tmpfs "store_pages /tmp/file shared 64 mov8" \
    zero "store_pages /dev/zero shared 64 mov8" \
    anonymous "store_pages anonymous shared 64 mov8" \
    anonymous_private "store_pages anonymous private 64 mov8"

set --
for instruction in mov1 mov2 mov4 mov8 movnti8 movaps16 movntdq16 vmovdqu32 push8 call8 add4 \
    cmpxchg16 masked repeated load8; do
    file "/mnt/part/$instruction"
    set -- "$@" "store_pages /mnt/part/$instruction shared 64 $instruction"
done
file /mnt/legacy/dax/again
step samples.instructions pmem samples "$@"
step samples.media pmem samples \
    "store_pages /mnt/legacy/dax/again shared 64 mov8" \
    "store_pages /mnt/legacy/file shared 64 mov8" \
    "store_pages /mnt/xfs/dax/file shared 64 mov8" \
    "store_pages /mnt/xfs/file shared 64 mov8" \
    "store_pages /mnt/over_part/file shared 64 mov8" \
    "store_pages /mnt/over_sector/file shared 64 mov8" \
    "store_pages /mnt/part/file private 64 mov8" \
    "exec unshare -m sh -c 'mount -t ext4 -o dax=always $fsdax /mnt/fsdax &&
        exec store_pages /mnt/fsdax/file shared 64 mov8'" \
    "store_pages /dev/$device shared 64 mov8" \
    "store_pages /tmp/file shared 64 mov8" \
    "store_pages anonymous private 64 mov8"

# ---- the exporter: containers that store, one kind of memory each ----

echo +memory >/sys/fs/cgroup/cgroup.subtree_control
step exporter.no_event interference_exporter --once --no-collector.probe --containers.names=none
# With the capabilities that the DaemonSet grants and no more.
echo 2 >/proc/sys/kernel/perf_event_paranoid
# On a busy host the sampler may be late, but not by three intervals: then windows are joined.
serve 1s "perfmon sys_ptrace checkpoint_restore dac_read_search" --source=perf --events.file=/events.json --collector.pebs_nvmm \
    --collector.pebs_nvmm.period=1

# storer ID CGROUP COMMAND: in a container, up to where it waits to be told
storer() {
    mkdir -p "$2"
    mkfifo "/tmp/$1.in"
    (
        echo 0 >"$2/cgroup.procs"
        exec sh -c "$3" <>"/tmp/$1.in" >"/tmp/$1.out"
    ) &
    wait_for test -s "/tmp/$1.out"
}

storer_done() {
    grep -q '^done' "/tmp/$1.out"
}

# nvmm METRIC LABELS NUMBER: all containers have so much of it
nvmm() {
    sum=$(get /metrics | sed -n "s/^interference_container_$1{.*$2} //p" |
        awk '{ sum += $1 } END { print sum }')
    [ "${sum:-0}" -ge "$3" ]
}

pods=/sys/fs/cgroup/kubepods/burstable/pod11111111-2222-3333-4444-555555555555
name() {
    # sh has no other way to repeat a letter
    printf '%064d' 0 | tr 0 "$1"
}
storer a "$pods/$(name a)" "exec unshare -m sh -c 'mount -t ext4 -o dax=always $fsdax /mnt/fsdax &&
    exec store_pages /mnt/fsdax/file shared 64 mov8'"
storer b "$pods/$(name b)" "exec store_pages /mnt/legacy/file shared 64 mov8"
storer c "$pods/$(name c)" "exec store_pages /dev/$device shared 48 vmovdqu32"
storer d "$pods/$(name d)" "exec store_pages anonymous private 64 mov8"
storer e1 "$pods/$(name e)/payload" "exec store_pages /mnt/legacy/dax/file shared 32 movntdq16"
storer e2 "$pods/$(name e)/other" "exec store_pages /tmp/file shared 64 mov4"
storer f "$pods/$(name f)" "exec 3<>/mnt/part/deleted; cat /tmp/file >&3; rm /mnt/part/deleted
    exec store_pages /proc/self/fd/3 shared 64 mov8"
# A root directory of its own with a volume in it, as runtimes make it where the host's root is an
# initial RAM file system.
mkdir -p /tmp/root/bin /tmp/root/volume
cp /bin/store_pages /tmp/root/bin
file /mnt/legacy/dax/volume
storer 1 "$pods/$(name 1)" "exec unshare -m sh -c 'mount --bind /tmp/root /tmp/root &&
    mount --bind /mnt/legacy/dax /tmp/root/volume && cd /tmp/root && mount --move . / &&
    exec chroot . /bin/store_pages /volume/volume shared 16 movaps16'"
wait_for shown 'containers{state="monitored"} 7'
next_tick
next_tick
step exporter.before get /metrics
# Right after a tick: on a busy host reading all counters takes a while, and what is stored meanwhile
# is counted in one window and sampled in the next. One in a tick: a look into a process costs this
# machine's emulated CPU so much that several at once are more than the sampler's share of CPU time,
# and the size of what it does not look at is unknown.
for id in a b c d e1 e2 f 1; do
    next_tick
    echo go >"/tmp/$id.in"
    wait_for storer_done $id
done
await nvmm memory_samples_total 'access="store",medium="nvmm"' 160
# The estimate comes when the window is settled. What it comes to is the test's to judge.
await nvmm nvmm_accesses_total 'access="store"' 150
next_tick
next_tick
step exporter.after get /metrics
step exporter.status get /api/v1/status
end_serving exporter.log
for id in a b c d e1 e2 f 1; do
    read -r pid _ <"/tmp/$id.out"
    kill "$pid"
done
wait

umount /mnt/legacy
must mount -t ext4 -o dax=never "$legacy" /mnt/legacy
step rules.never pmem rule file_never "store_pages /mnt/legacy/dax/file shared 64 mov8"
umount /mnt/legacy
must mount -t ext4 -o dax=always "$legacy" /mnt/legacy
step rules.always pmem rule file_always "store_pages /mnt/legacy/file shared 64 mov8"
finish
