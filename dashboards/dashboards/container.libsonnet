// Container: how long it waits, how much slower it runs, and who else was busy then.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local here = g.onContainers,
  local model = here + ', model="%s"' % config.slowdownModel,
  local pod = '{{namespace}}/{{pod}}/{{container}}',
  local sum(metric, matchers=here) = g.rate(q.container, 'interference_container_%s_total' % metric, matchers),
  local gauge(metric, matchers=here) = 'max by (%s) (%s)' % [q.container, q.select('interference_container_' + metric, matchers)],
  local latency = q.ratio(sum('memory_read_wait_seconds'), sum('memory_read_latency_reads')),
  // What its normal is known from, or why it is not.
  local info = 'group by (%s) (%s)' % [q.container, q.select('interference_container_info', here)],
  local because(expr, why) = '\nor on (%s)\nlabel_replace(%s, "basis", "%s", "", "")' % [q.container, expr, why],
  local without(metric) = '%s\nunless on (%s)\n%s' % [info, q.container, sum(metric)],
  local restsOn =
    'group by (%s, basis) (%s)' % [q.container, q.select('interference_container_memory_read_latency_baseline_seconds', here)]
    + because(without('cpu_cycles'), 'not counted')
    + because(without('memory_read_latency_observed_seconds'), 'latency unknown here')
    + because('group by (%s) (increase(%s[1h]) > 0)' % [q.container, q.select('interference_container_memory_read_latency_observed_seconds_total', here)], 'learning')
    + because(info, 'idle'),
  local lost(labels) = q.ratio(
    g.rate(labels, 'interference_container_interference_cycles_total', model),
    sum('slowdown_observed_cycles', model),
    if labels == q.container then '' else 'on (%s) group_left ()' % q.container
  ),
  // Everybody else on the nodes where the chosen containers are.
  local others(series) = ofOthers(g.rate(q.container, series, g.onNodes)),
  local caused = g.ofReadings(q.container, 'interference_container_caused_latency_seconds_total'),
  local ofOthers(values) =
    'topk(10,\n  (%s)\n  and on (%s) (%s)\n  unless on (%s) (%s)\n)' % [
      values,
      q.node,
      q.select('interference_container_info', here),
      q.container,
      q.select('interference_container_info', here),
    ],

  // Collector placement: times as long if a share of its accesses went to each target, at least and at most
  // (collectors/formulas/placement.h). Misses that overlap wait for the slowest of them.
  local elsewhere = 'avg by (target) (container:interference_placement_slowdown:ratio5m{%s})' % here,
  local inParallel = 'avg(container:interference_memory_parallelism:ratio5m{%s})' % here,
  local ofShare(share, expr) = 'label_replace(\n%s,\n"share", "%d %%", "", ""\n)' % [expr, share * 100],
  local overShares(expr) = std.join('\nor\n', [ofShare(share, expr(share)) for share in [0.25, 0.5, 0.75, 1]]),
  local slowPart(share) = '%s * scalar(%s) / (%s * scalar(%s) + %s)' % [share, inParallel, share, inParallel, 1 - share],
  local atLeast(share) = '1 + %g * (%s - 1)' % [share, elsewhere],
  local atMost(share) = '1 + %s * ((%s >= 1) - 1)\nor\n(%s < 1) + %s * (1 - %s)' % [
    slowPart(share),
    elsewhere,
    elsewhere,
    slowPart(1 - share),
    elsewhere,
  ],

  // The same as curves over the mean latency of its reads, which grows with the share of its accesses that goes to
  // the slowest target, and falls with that to the fastest. The label "target" also keeps the other points
  // apart.
  local sensitivity = 'avg(container:interference_memory_sensitivity:ratio5m{%s})' % here,
  local join = 'on () group_left ()',
  local points(values, name) =
    '(%s)' % std.join('\nor ', ['label_replace(vector(%s), "target", "%s", "", "")' % [v, name % v] for v in values]),
  local curve = {
    // What all of it there loses, gains; and shares: some, those that are as far as a target, or 100 ns and more.
    loss:: '((max(%s) - 1) > 0)' % elsewhere,
    gain:: '((1 - min(%s)) > 0)' % elsewhere,
    local parts(name) = '0.01 * ' + points([0, 2, 5, 10, 20, 35, 50, 75], name),
    slower:: '(%s\nor\n(%s - 1) / %s %s >= 0\nor\n%s * %s (%s / %s) < 1)' % [
      parts('%s%% slower'),
      elsewhere,
      join,
      self.loss,
      points([1, 2, 3, 4, 5], '%s00 ns'),
      join,
      sensitivity,
      self.loss,
    ],
    faster:: '(%s\nor\n(1 - %s) / %s %s > 0)' % [parts('%s%% faster'), elsewhere, join, self.gain],
    atLeast: '1 + %s * %s %s\nor\n1 - %s * %s %s\nor\n%s' % [self.slower, join, self.loss, self.faster, join, self.gain, elsewhere],
    latency: '((%s) - 1)\n* %s (1e-7 / (%s > 0))' % [self.atLeast, join, sensitivity],
    // placement_share(), solved for what is gained where it is faster.
    atMost:
      local once = '(1 / %s)' % inParallel;
      '1 + 1 / (1 / %s * %s %s + %s (1 - %s)) * %s %s\nor\n1 - 1 / (1 / %s * %s %s - %s (%s - 1)) * %s %s' % [
        self.slower,
        join,
        once,
        join,
        once,
        join,
        self.loss,
        self.faster,
        join,
        inParallel,
        join,
        inParallel,
        join,
        self.gain,
      ],
    // None of who reads nothing, for whom there is no latency.
    atTargets: '%s\nand on ()\n(%s > 0)' % [elsewhere, sensitivity],
  },

  grafanaDashboards+:: {
    'container.json': g.dashboard(
      g.uid.container,
      'Container',
      'One container: its memory latency and slowdown, and the neighbours that were busy at the time.',
      g.variables(oneNode=true, containers=true, oneContainer=true),
      [
        ['Now', [
          g.stat('Latency',
                 'Mean latency of its memory reads. High compared with the baseline: reads take longer than is normal for it.',
                 's',
                 'avg(%s)' % latency,
                 { decimals: 0, noValue: 'reads no memory' }),
          g.stat('Baseline',
                 'Its normal latency, best known from windows in which its neighbours were calm. High: its memory is remote, persistent or slow.',
                 's',
                 'avg(%s)' % gauge('memory_read_latency_baseline_seconds'),
                 { decimals: 0, noValue: 'see Normal rests on' }),
          g.stat('Normal rests on',
                 'What its normal latency is known from: calm (windows in which its neighbours used the memory little), extrapolated (to neighbours that read nothing), usual (the 20th percentile of its last day), machine (what the probe takes at best, a lower bound). Or why there is none: learning (at work for less than ten minutes), idle (hardly at work in the last hour), not counted, latency unknown here (see the collectors on the dashboard Node). Without one there is neither threshold nor slowdown. Usual or machine: its node is never calm, and its normal may be slow already.',
                 'short',
                 restsOn,
                 { w: 3, now: true, name: true, legend: '{{basis}}', noValue: 'not monitored: excluded, or over the limit' }),
          g.stat('Threshold',
                 'The latency that counts as too high: from the thresholds file, otherwise the baseline times a factor.',
                 's',
                 'avg(%s)' % gauge('memory_read_latency_threshold_seconds'),
                 { decimals: 0, noValue: 'none yet' }),
          g.stat('Time above threshold',
                 'Share of the observed time in the last 15 minutes. High: see the runbook of InterferenceMemoryLatencyHigh.',
                 'percentunit',
                 'max(container:interference_memory_read_latency_over_threshold:ratio15m{%s} or container:interference_memory_stall_per_read_over_threshold:ratio15m{%s})' % [here, here],
                 { w: 3, decimals: 0, noValue: 'no threshold', steps: [['blue', null], ['orange', config.latencyShare]] }),
          g.stat('Slowdown',
                 'How many times as long its work takes as it would take alone, estimated (model %s). High: see the runbook of InterferenceContainerSlowdown.' % config.slowdownModel,
                 'suffix:×',
                 'max(container:interference_slowdown:ratio5m{%s})' % model,
                 { w: 3, decimals: 2, noValue: 'no estimate', steps: [['blue', null], ['orange', config.slowdownBound]] }),
          g.stat('CPU',
                 'Number of CPUs that it keeps busy. High: it uses a lot of CPU. A core that waits for memory counts as busy.',
                 'suffix: CPUs',
                 'sum(%s)' % q.ratio(
                   sum('cpu_reference_cycles'),
                   'max by (%s) (%s)' % [q.node, q.select('interference_cpu_base_frequency_hertz', g.onNodes)],
                   'on (%s) group_left ()' % q.node
                 ),
                 { w: 3, decimals: 2, noValue: 'idle' }),
        ]],
        ['Where its time went', [
          g.timeseries(
            'Where its time went',
            'The share of its time in which it waited, by what for. Several waits may go on at the same time, and slow memory adds up all reads that wait at once: together they may be more than 100 %. Its own CPU limit: it was reached. Others on its CPUs, its own tasks: the rest of its waiting for CPUs, while others ran there, or others of its own tasks. Slow memory: what its counted reads took above normal. High: do what *What costs it most* says. Empty: it waits for nothing that this node can see; look at the service, its callers, the network.',
            'percentunit',
            [g.target(g.rate('cause', 'interference_container_lost_seconds_total', here), '{{cause}}')],
            { w: 10, min: 0, stack: true, noValue: 'nothing that this node can see, or lost_time is off', overrides: g.waitsInWords }
          ),
          g.timeseries(
            'CPU used while memory was slow',
            "How many CPUs it used while the node's memory was slower than when it is calm, as the probe measured it; only where its own reads are not counted. High: much of its work may have taken longer. It is no loss: a program that does not wait for memory lost nothing.",
            'suffix: CPUs',
            [g.target(sum('exposed_cpu_seconds'), pod)],
            { w: 8, min: 0, noValue: 'memory was not slow, or its reads are counted' }
          ),
          g.stat(
            'What costs it most',
            'The cause of the last quarter of an hour, and what to do about it. It stays until another one costs half as much again. Nothing: look at the service, at what it calls, and at the network.',
            'percentunit',
            'container:interference_lost_most:ratio5m{%s}' % here,
            { w: 6, h: 8, named: '{{cause}}', decimals: 0, noValue: 'nothing that this node can see', overrides: g.waitsAndRemedies }
          ),
        ]],
        ['Latency', [
          g.timeseries(
            'Memory read latency and its threshold',
            'Mean latency of its memory reads. The band lies between its baseline and its threshold. Above the band: reads take much longer than is normal for it. Gaps: it read no memory.',
            's',
            [
              g.target(latency, pod),
              g.target('avg(%s)' % gauge('memory_read_latency_baseline_seconds'), 'baseline'),
              g.target('avg(%s)' % gauge('memory_read_latency_threshold_seconds'), 'threshold'),
            ],
            {
              h: 10,
              overrides: [
                g.byName('threshold', {
                  'custom.fillBelowTo': 'baseline',
                  'custom.fillOpacity': 15,
                  'custom.lineStyle': { fill: 'dash', dash: [8, 6] },
                  color: { mode: 'fixed', fixedColor: 'orange' },
                }),
                g.dashed('baseline', 'blue'),
              ],
            }
          ),
          g.heatmap(
            'Latency of its windows',
            'How many of its one-second windows had each latency. Only with --collector.core_latency.histogram=container. A tail upwards: it sometimes waits long, which the mean hides.',
            g.histogram('interference_container_memory_read_window_latency_seconds', here),
            { h: 10, noValue: 'only with --collector.core_latency.histogram=container' }
          ),
          g.timeseries(
            'Time above the threshold',
            'Share of its observed time above the threshold. It alerts above %d %% over 15 minutes.' % (config.latencyShare * 100),
            'percentunit',
            [g.target(q.ratio(sum('memory_read_latency_over_threshold_seconds'), sum('memory_read_latency_observed_seconds')), pod)],
            { min: 0, max: 1, noValue: 'no threshold: see Normal rests on', limits: [['red', config.latencyShare]] }
          ),
          g.timeseries(
            'Stall per read and its threshold',
            'On CPUs that count stalled cycles and no latency (Arm Neoverse V1, V2, N2): how long each of its memory reads holds it up. Less than a latency where reads overlap. Above its threshold: longer than is normal for it.',
            's',
            [
              g.target(q.ratio(sum('memory_stall_seconds'), sum('memory_stall_reads')), pod),
              g.target('avg(%s)' % gauge('memory_stall_per_read_baseline_seconds'), 'baseline'),
              g.target('avg(%s)' % gauge('memory_stall_per_read_threshold_seconds'), 'threshold'),
            ],
            { min: 0, noValue: 'this CPU counts a latency, or neither' }
          ),
          g.timeseries(
            'Memory reads',
            'Its reads from memory per second. High: it depends on memory and adds to the load on it. Rising together with its latency: its own reads may slow it down.',
            'rps',
            [g.target(sum('memory_reads'), pod)],
            { min: 0 }
          ),
        ]],
        ['Slowdown', [
          g.timeseries(
            'Slowdown (model %s)' % config.slowdownModel,
            'How many times as long its work takes as it would take alone, estimated. %s High: memory or cache cost it more than alone.' % g.modelsError,
            'suffix:×',
            [g.target('1 / ((1 -\n%s\n) > 0)' % lost(q.container), pod)],
            { w: 8, min: 1, noValue: 'no estimate: see Normal rests on', limits: g.slowdownLimits, grey: true }
          ),
          g.timeseries(
            'Lost cycles by contended resource',
            'Estimated share of its cycles that it would not need alone. memory: its reads take longer; because of whom, see *Made to wait by*. cache: it misses more; look for neighbours that evict its lines.',
            'percentunit',
            [g.target(lost(q.container + ', resource'), '{{resource}} {{pod}}/{{container}}')],
            { w: 8, min: 0, stack: true, noValue: 'no estimate: see Normal rests on' }
          ),
          g.timeseries(
            'Last-level cache accesses, shared and alone',
            'Accesses per second of its running time: measured, and estimated as if it ran alone. The further apart, the larger its slowdown. "Alone" needs --collector.slowdown.alone-rate.',
            'rps',
            [
              g.target(q.ratio(
                         sum('llc_reads'),
                         sum('cpu_reference_cycles')
                       ) + '\n* on (%s) group_left ()\nmax by (%s) (%s)' % [q.node, q.node, q.select('interference_cpu_base_frequency_hertz', g.onNodes)],
                       'shared {{pod}}/{{container}}'),
              g.target(gauge('alone_llc_access_rate_hertz', model), 'alone {{pod}}/{{container}}'),
            ],
            { w: 8, min: 0 }
          ),
        ]],
        ['Who makes it wait', [
          g.timeseries(
            'Made to wait by',
            "How much longer a read of the node's memory takes because of each other container that is named, and what nobody is named for. It is the node's memory, by the probe: how much this container minds is in the panels above. High: move or limit that container. A wide unknown: see the runbook of InterferenceExcessUnattributed.",
            's',
            [
              g.target('(%s) > 0' % ofOthers(caused), pod),
              g.target(g.ofReadings(q.node + ', by', 'interference_memory_excess_latency_seconds_total', 'by!="named"'), '{{by}}'),
            ],
            { w: 8, links: [g.toContainer], min: 0, stack: true, noValue: 'needs the probe', overrides: g.causes }
          ),
          g.timeseries(
            'Makes others wait',
            "How much longer a read of the node's memory takes because of this container, while it is named. High: it slows down its neighbours; see the runbook of InterferenceAggressor. Empty: it is not named, which proves nothing if it is always equally active.",
            's',
            [g.target('%s\nand on (%s)\n%s' % [caused, q.container, q.select('interference_container_info', here)], pod)],
            { w: 8, min: 0, noValue: 'not named' }
          ),
          g.timeseries(
            'Waiting of others because of it',
            'How many seconds the memory reads of all other containers wait per second because of its memory traffic: what they take above those containers\' baselines, shared out by traffic. High: it makes others wait, also if it is always equally active. Many reads wait at the same time, so compare with its own past. Whom: "pairs" in /api/v1/interference of the exporter. Only with --collector.attribution.traffic.',
            'suffix: s/s',
            [g.target(sum('caused_wait_seconds'), pod)],
            { w: 8, min: 0, noValue: 'only with --collector.attribution.traffic' }
          ),
        ]],
        ['Who else was busy', [
          g.timeseries(
            'Memory reads of others on the node',
            'The ten other containers on the node with the most memory reads. One that rises together with the latency above is the first suspect.',
            'rps',
            [g.target(others('interference_container_memory_reads_total'), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
          g.timeseries(
            'Last-level cache reads of others on the node',
            'The ten other containers on the node with the most last-level cache reads. One that rises together with the cycles lost to the cache is the first suspect.',
            'rps',
            [g.target(others('interference_container_llc_reads_total'), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
          g.timeseries(
            'CPUs of others on the node',
            'The ten other containers on the node that keep most CPUs busy. High CPU use alone is no interference: a neighbour with few reads does little harm.',
            'suffix: CPUs',
            [g.target(ofOthers('container:interference_cpus:rate5m{%s}' % g.onNodes), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
        ]],
        ['Placement', [
          g.timeseries(
            'Its memory elsewhere',
            'How many times as long its work would take with all of its memory at each target; below 1: it would run faster there. Too near to 1 if it mainly stores or is prefetched: too low for a slower target, too high for a faster one. Only with --collector.placement.',
            'suffix:×',
            [g.target(q.ratio(
              g.rate(q.container + ', target', 'interference_container_placement_predicted_seconds_total', here),
              sum('placement_observed_seconds'),
              'on (%s) group_left ()' % q.container
            ), '{{target}}')],
            { noValue: 'only with --collector.placement', w: 8 }
          ),
          g.curve(
            'Slower memory',
            'How many times as long its work would take if its reads took so much longer than now on average: to the left of 0 a shorter time, as far as the fastest target, to the right as far as the slowest. At least: if all of its memory is as far (the points are the targets), and whatever else. At most: if it is because a part of its accesses goes to the slowest (or fastest) target: reads that are under way at once wait for the slowest of them. Steep: it must stay on fast memory. Too near to 1 if it mainly stores or is prefetched: too low for a slower target, too high for a faster one.',
            'suffix:×',
            { name: 'Longer reads', unit: 's', expr: curve.latency },
            [
              { name: 'At least', expr: curve.atLeast },
              { name: 'At most', expr: curve.atMost },
              { name: 'All of it at a target', expr: curve.atTargets, points: true },
            ],
            { noValue: 'only with --collector.placement', decimals: 2 }
          ),
          g.table(
            'A share of its memory elsewhere',
            'The same if a share of its accesses went to the target: between these bounds. They are the same for one whose reads wait for each other; the more of them are under way at once, the more the first share that moves to slow memory costs.',
            [
              { name: 'At least', unit: 'suffix:×', decimals: 3, expr: overShares(atLeast) },
              { name: 'At most', unit: 'suffix:×', decimals: 3, expr: overShares(atMost) },
            ],
            ['target', 'share'],
            { w: 8, noValue: 'only with --collector.placement' }
          ),
        ]],
        ['How it runs', [
          g.timeseries(
            'Instructions per cycle',
            'Low: it often waits, for memory or for something else. Compare the value with its own past: if it falls while the work stays the same, something slows it down.',
            'short',
            [g.target(q.ratio(sum('cpu_instructions'), sum('cpu_cycles')), pod)],
            { w: 8, min: 0, decimals: 2 }
          ),
          g.timeseries(
            'Cycles with a memory read outstanding',
            'Share of its cycles. Near 100 %: it reads memory almost all the time, and every nanosecond of latency counts.',
            'percentunit',
            [g.target(q.ratio(sum('memory_read_active_cycles'), sum('cpu_cycles')), pod)],
            { w: 8, min: 0 }
          ),
          g.timeseries(
            'Last-level cache misses',
            "Share of its last-level cache reads that went on to memory. High: the cache does not hold what it needs. Rising together with a neighbour's reads: the neighbour may evict its lines.",
            'percentunit',
            [g.target(q.ratio(sum('memory_reads'), sum('llc_reads')), pod)],
            { w: 8, min: 0, max: 1 }
          ),
        ]],
      ],
      annotations=[g.alerts('Interference.+', g.onNodes), g.starts(g.onNodes)],
      links=g.exporterLinks + g.podLinks
    ),
  },
}
