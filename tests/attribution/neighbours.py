"""Neighbours: containers on this machine that are switched on and off by a schedule."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time

import harness

# Stores and copies of this much miss every cache.
MIB = 256


class Neighbour:
    """A container whose processes are stopped until it is switched on, one on each of these CPUs;
    "any": one, where the kernel wants it. Modes are those of memory_hog, and idle."""

    def __init__(self, cgroups, name, mode, cpus=("any",)):
        self.name = name
        self.cgroup, self.container_id = cgroups.docker()
        if mode == "idle":
            self.processes = [cgroups.spawn(self.cgroup, [harness.PROGRAMS / "idle"])]
        else:
            hog = ["nice", "-n", "-5", harness.PROGRAMS / "memory_hog", mode]
            self.processes = [cgroups.spawn(self.cgroup, [*hog, cpu, MIB], text=True,
                                            stdout=subprocess.PIPE) for cpu in cpus]
            for process in self.processes:
                assert process.stdout.readline() == "ready\n", f"{name} did not start"
                process.stdout.close()
        self.running = True
        self.switch(False)

    def switch(self, on):
        if on != self.running:
            for process in self.processes:
                process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
        self.running = on


def intervals(draw, seconds, shortest, longest):
    """[(from, to)] of being on, in seconds."""
    found, now = [], draw.uniform(0, longest)
    while now < seconds:
        end = min(seconds, now + draw.uniform(shortest, longest))
        found.append((now, end))
        now = end + draw.uniform(shortest, longest)
    return found


def unlike(draw, wanted, seconds, share):
    """The intervals of one who does as `wanted` in this share of its switchings."""
    edges = sorted({0.0, seconds, *(t for interval in wanted for t in interval)})
    found = []
    for start, end in zip(edges, edges[1:]):
        on = any(a <= start < b for a, b in wanted)
        if on == (draw.random() < share):
            found.append((start, end))
    return found


def pulses(draw, seconds, least, most):
    """A service: busy for a part of each second."""
    return [(t, t + draw.uniform(least, most)) for t in range(int(seconds))]


def play(schedules, seconds, between=lambda: None):
    """Switches {neighbour: intervals} until the seconds are over; calls `between` now and then."""
    began = time.monotonic()
    edges = sorted((t, on, neighbour.name, neighbour)
                   for neighbour, intervals in schedules.items()
                   for start, end in intervals for t, on in ((start, True), (end, False)))
    for t, on, _, neighbour in edges:
        time.sleep(max(0.0, began + t - time.monotonic()))
        neighbour.switch(on)
        between()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    for neighbour in schedules:
        neighbour.switch(False)


def own_share_of_cpus():
    """Where the kernel shares CPUs between sessions, `nice` says nothing to other sessions: a session
    of our own, and its priority."""
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text("-16")


def drawing(seed):
    return random.Random(seed)
