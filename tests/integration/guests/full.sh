#!/bin/sh
# A machine whose memory is filled: first a container's, up to its limit, then all of it. Programs
# are never given up for want of it, since they are in the initial RAM file system.

# shellcheck source=/dev/null
. /common.sh
cgroups=/sys/fs/cgroup
disk=/mnt/disk

for module in nfit nd_pmem nd_e820; do
    must modprobe "$module"
done
mkdir -p "$disk"
must mkfs.ext4 -q -F -b 4096 /dev/pmem0 >/dev/null
must mount -t ext4 /dev/pmem0 "$disk"
must dd if=/dev/zero of="$disk/file" bs=1M count=96 2>/dev/null

# kib KEY: as /proc/meminfo has it
kib() {
    sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo
}

# listen NAME: what is said of that container, every other second, until it is said for the third time
# what it waits for
listen() {
    : >/tmp/said
    for _ in $(seq 40); do
        sleep 2
        get /api/v1/containers | tr '{' '\n' |
            sed -n "s/.*\"container\":\"$1\".*\"verdict\":\"\([a-z_]*\)\".*/\1/p" |
            grep -v nothing >>/tmp/said
        [ "$(wc -l </tmp/said)" -ge 3 ] && break
    done
    cat /tmp/said
}

# reads NAME: a program, in a container of that name
reads() {
    (
        echo 0 >"$cgroups/$1/cgroup.procs"
        exec read_again "$disk/file"
    ) &
}

ended() {
    echo 1 >"$cgroups/$1/cgroup.kill"
    until rmdir "$cgroups/$1" 2>/dev/null; do
        sleep 0.1
    done
}

echo +memory >$cgroups/cgroup.subtree_control
serve 1s all --source=perf --containers.all-cgroups --collector.lost_time.period=2s

mkdir $cgroups/limited
echo 32M >$cgroups/limited/memory.max
sync
echo 3 >/proc/sys/vm/drop_caches # what it reads is its own memory
reads limited
step limited.said listen limited
step limited get /api/v1/containers
step limited.events cat $cgroups/limited/memory.events
ended limited

mkdir /tmp/fill
must mount -t tmpfs -o size=100% fill /tmp/fill
dd if=/dev/zero of=/tmp/fill/all bs=1M count=$(($(kib MemAvailable) / 1024 - 40)) 2>/dev/null
mkdir $cgroups/free
reads free
step free.said listen free
step free get /api/v1/containers
step free.node cat /proc/pressure/memory
ended free
rm /tmp/fill/all
end_serving log
finish
