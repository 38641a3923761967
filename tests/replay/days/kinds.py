"""The kinds of days: what happens, and what is true by construction. README.md has the table."""
import math

from node import BASE_HZ, DAY, HOUR, MINUTE, Day

KINDS = {}


def kind(function):
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def make(name, seed=0):
    day = Day(name, seed)
    KINDS[name](day)
    return day


def letters(day, n):
    return "".join(day.random.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(n))


def replica(day, name):
    return f"{name}-{letters(day, 10)}-{letters(day, 5)}"


def aggressor(day, name, at, until, by, cpus=4.0, **more):
    """Memory takes 'by' longer; who waits alerts, and who does it is told."""
    day.add(name, 60e6, cpus, namespace="batch", comes=at, goes=until, hurts=by / cpus, **more)
    day.true.append((at, until, None))


WAITING = ("InterferenceMemoryLatencyHigh", "InterferenceManyContainersWait")
TOLD = (*WAITING, "InterferenceAggressor")


def alerts(day, names, at, until):
    for name in names:
        day.alerts.setdefault(name, []).append((at, until))


# ---- healthy ----


@kind
def quiet(day):
    day.services(8)


@kind
def night_and_day(day):
    day.services(8, lambda t: 25e6 * (0.55 - 0.45 * math.cos(2 * math.pi * t / DAY)))


@kind
def nothing_at_night(day):
    """Scaled to nothing from 22:00 to 6:00, and back under other names."""
    for i in range(6):
        for comes, goes in ((0, 1 * HOUR), (9 * HOUR, DAY)):
            day.add(f"svc{i}", pod=replica(day, f"svc{i}"), comes=comes, goes=goes)


@kind
def deployments(day):
    """Each hour all pods of one deployment, one after the other."""
    for i in range(8):
        begin = 0
        for hour in range(1 + i % 3, 24, 3):
            change = hour * HOUR + 20 * i
            day.add(f"svc{i}", pod=replica(day, f"svc{i}"), comes=begin, goes=change)
            begin = change
        day.add(f"svc{i}", pod=replica(day, f"svc{i}"), comes=begin)


@kind
def fills_slowly(day):
    """From two services to twenty, and memory takes a tenth longer in the end."""
    for i in range(20):
        day.add(f"svc{i}", 10e6, comes=max(0, i - 1) * 70 * MINUTE)


@kind
def jobs_of_a_second(day):
    """A job of one second every ten, and one of 50 minutes each hour."""
    day.services(5)
    day.rules_until = 3 * HOUR
    for n in range(0, DAY, 10):
        day.add("tick", 2e6, pod=f"tick-{29000000 + n}-{letters(day, 5)}", namespace="jobs",
                comes=n + 1, goes=n + 2)
    for hour in range(24):
        day.add("report", pod=f"report-{29000000 + hour}-{letters(day, 5)}", namespace="jobs",
                comes=hour * HOUR, goes=hour * HOUR + 50 * MINUTE)


@kind
def restarted_without_state(day):
    day.services(6)
    day.restarts = {7 * HOUR + 11: (), 15 * HOUR + 40: ()}


@kind
def restarted_with_state(day):
    day.services(6)
    day.state = True
    day.restarts = {7 * HOUR + 11: (), 15 * HOUR + 40: ()}


@kind
def upgraded(day):
    """The state is of another version."""
    day.services(6)
    day.state = True
    day.restarts = {9 * HOUR: ("spoil",)}


@kind
def prometheus_restarts(day):
    day.services(6)
    day.gaps = [(4 * HOUR, 4 * HOUR + 12 * MINUTE), (16 * HOUR, 17 * HOUR)]


@kind
def counters_wrap(day):
    """At 48 bits; and they begin anew."""
    day.services(6)
    day.start_total = 2**48 - 10**12
    day.wraps = 2**48
    day.resets = {5 * HOUR, 5 * HOUR + 1, 13 * HOUR}


@kind
def clock_steps(day):
    """An hour ahead, then an hour behind; and 500 ppm of slewing all day."""
    day.services(6)
    day.wall = lambda t: (1 + 5e-4) * t + (3600 if 6 * HOUR <= t < 10 * HOUR else
                                           -3600 if 14 * HOUR <= t < 20 * HOUR else 0)


@kind
def suspended(day):
    """For three hours: the monotonic clock stands, the wall's does not, and no tick comes."""
    day.services(6)
    day.seconds = 21 * HOUR
    day.wall = day.prometheus = lambda t: t + (3 * HOUR if t >= 9 * HOUR else 0)


@kind
def cpu_hotplug(day):
    """The CPU that all run on goes and comes again: counts go on beside those of the old one."""
    day.services(6)
    day.cpu = lambda t, c: 3 if 8 * HOUR <= t < 9 * HOUR else 2


@kind
def frequency_changes(day):
    """Within windows, of each container on its own: 1 to 3.5 GHz."""
    day.services(6)
    day.hz = lambda t, c: 1e9 + 1.25e9 * (1 + math.sin(t / (7 + len(c.name)) + t / 3001))


@kind
def stolen(day):
    """The hypervisor takes 60 % for six hours."""
    day.services(6)
    day.steal = lambda t: 0.6 if 10 * HOUR <= t < 16 * HOUR else 0


@kind
def memory_only_node(day):
    """CXL: a NUMA node without CPUs, which nobody reads."""
    day.numa_nodes = 1
    day.services(6)
    day.far_node = True


@kind
def ticks_missed(day):
    """Five in a row, twenty times a day."""
    day.services(6)
    day.missing = {t + i for t in range(HOUR, 21 * HOUR, HOUR) for i in range(5)}


@kind
def id_used_again(day):
    """The cgroup of one that ended is another one's: slower memory, and nothing of the first."""
    first = day.add("one", goes=8 * HOUR, cgroup="/kubepods/pod1/again")
    second = day.add("two", latency=2, comes=8 * HOUR + 1, cgroup="/kubepods/pod1/again")
    second.id = first.id
    day.services(4)


@kind
def profiler(day):
    """For five minutes each hour somebody else counts, and our counters run half of the time."""
    day.services(6)
    day.running = lambda t: 0.5 if t % HOUR < 5 * MINUTE else 1


@kind
def other_events(day):
    """A kernel upgrade: the same node, whose counters another table names."""
    day.services(6)
    day.state = True
    day.restarts = {10 * HOUR: ("skx",)}


@kind
def probe_silent(day):
    day.services(6)
    day.silent = lambda t: 3 * HOUR <= t < 5 * HOUR


@kind
def noisy_windows(day):
    """Each window is off by a tenth."""
    day.services(6, noise=0.1)


@kind
def empty(day):
    """No containers at all."""


@kind
def swings(day):
    """9:1 in twenty minutes, all together, all day."""
    day.services(8, lambda t: 24e6 * (0.55 + 0.45 * math.sin(2 * math.pi * t / 1200)))


@kind
def four_tenants(day):
    """Four, each of them large, that drift: together they make memory take 18 % longer for a while."""
    day.perhaps = ["InterferenceExcessUnattributed"]
    for i in range(4):
        phase, period = day.random.random(), 2000 + 1700 * i
        day.add(f"tenant{i}", lambda t, a=phase, b=period: 60e6 * math.exp(
            0.3 * math.sin(2 * math.pi * (a + t / b))), 8.0, latency=1 + 0.1 * i)


# ---- somebody hurts ----


@kind
def nightly_batch(day):
    day.services(8)
    aggressor(day, "report", 2 * HOUR, 2 * HOUR + 40 * MINUTE, 0.4,
              pod=f"report-29000000-{letters(day, 5)}")
    alerts(day, TOLD, 2 * HOUR, 2 * HOUR + 40 * MINUTE)


@kind
def two_exporters(day):
    """A second one on the same node, forgotten there: that is told, and all else once."""
    nightly_batch(day)
    day.exporters = 2
    alerts(day, ("InterferenceExportersTwice",), 0, DAY)


@kind
def weekly_backup(day):
    day.services(8)
    aggressor(day, "backup", 3 * HOUR, 5 * HOUR, 0.5)
    alerts(day, TOLD, 3 * HOUR, 5 * HOUR)


@kind
def four_tenants_and_a_batch(day):
    four_tenants(day)
    aggressor(day, "report", 14 * HOUR, 14 * HOUR + 40 * MINUTE, 0.4)
    alerts(day, ("InterferenceMemoryLatencyHigh", "InterferenceAggressor"),
           14 * HOUR, 14 * HOUR + 40 * MINUTE)


@kind
def every_six_hours(day):
    day.services(6)
    for hour in (3, 9, 15, 21):
        aggressor(day, "etl", hour * HOUR, (hour + 1) * HOUR, 0.4, pod=f"etl-{29000000 + hour}-abcde")
        alerts(day, TOLD, hour * HOUR, (hour + 1) * HOUR)


@kind
def restarted_in_an_incident(day):
    """With its state: the alerts go on."""
    day.services(6)
    day.state = True
    aggressor(day, "backup", 8 * HOUR, 10 * HOUR, 0.4)
    alerts(day, TOLD, 8 * HOUR, 10 * HOUR)
    day.restarts = {9 * HOUR: ()}


@kind
def moves_between_sockets(day):
    """Its CPUs go to the other socket, its memory stays: reads take 60 % longer."""
    day.sockets, day.numa_nodes = 2, 2
    for i in range(3):
        day.add(f"svc{i}", socket=i % 2)
    day.add("moves", latency=lambda t: 1.6 if 12 * HOUR <= t < 14 * HOUR else 1,
            socket=lambda t: 1 if 12 * HOUR <= t < 14 * HOUR else 0)
    day.cpu = lambda t, c: 32 * c.socket(t) + 2
    day.true.append((12 * HOUR, 14 * HOUR, ("moves",)))
    alerts(day, ("InterferenceMemoryLatencyHigh",), 12 * HOUR, 14 * HOUR)


@kind
def four_sockets(day):
    """With two NUMA nodes each (SNC): the trouble is on one of them."""
    day.sockets, day.numa_nodes = 4, 8
    for i in range(8):
        slow = (lambda t: 1.5 if 12 * HOUR <= t < 14 * HOUR else 1) if i % 4 == 2 else 1
        day.add(f"svc{i}", socket=i % 4, latency=slow)
    day.cpu = lambda t, c: 32 * c.socket(t) + 2
    day.true.append((12 * HOUR, 14 * HOUR, ("svc2", "svc6")))
    alerts(day, ("InterferenceMemoryLatencyHigh",), 12 * HOUR, 14 * HOUR)


# ---- so many come and go ----


@kind
def churn(day):
    """2,000 containers an hour, each for a minute; memory, descriptors and series stay."""
    day.services(4)
    day.rules_until = HOUR
    for n in range(2000 * 24):
        at = int(n * 1.8)
        if at + 60 < DAY:
            day.add("job", 1e6, 0.2, pod=f"job-{29000000 + n}-abcde", namespace="jobs", comes=at,
                    goes=at + 60)
