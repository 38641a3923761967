# shellcheck shell=sh
# What the scripts of guests share; each is the first process of a virtual machine.

export PATH=/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
stty -F /dev/ttyS1 raw -echo

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
        echo "@end $step_name $step_status"
    } >/dev/ttyS1
}

finish() {
    echo "@done" >/dev/ttyS1
    sync
    poweroff -f
}

# must COMMAND...: what the steps rely on. Its failure ends the guest, which the test sees.
must() {
    "$@" && return
    echo "failed: $*"
    poweroff -f
}
