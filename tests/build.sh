# shellcheck shell=bash
# What run.sh and quick.sh have in common: sourced, at the top of the tree.

# Builds that tests make are held to the same, and share what has been compiled.
export IE_WERROR=ON
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

jobs=$(nproc)

# How many tests are started. They wait half of the time: half as many again as there are CPUs.
# times.py reckons with three, on two CPUs.
beside() {
    echo $((jobs + (jobs + 1) / 2))
}

# configure FOLDER [CMAKE ARGUMENT...]
configure() {
    cmake -S . -B "$1" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DIE_WERROR=ON -DIE_BPF=REQUIRED "${@:2}"
}

# compile FOLDER [TARGET]
compile() {
    cmake --build "$1" -j "$jobs" --target "${2:-all}" -- --quiet
}
