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
  local latency = q.ratio(sum('memory_read_wait_seconds'), sum('memory_reads')),
  local lost(labels) = q.ratio(
    g.rate(labels, 'interference_container_interference_cycles_total', model),
    sum('slowdown_observed_cycles', model),
    if labels == q.container then '' else 'on (%s) group_left ()' % q.container
  ),
  // Everybody else on the nodes where the chosen containers are.
  local others(series) =
    'topk(10,\n  (%s)\n  and on (%s) (%s)\n  unless on (%s) (%s)\n)' % [
      g.rate(q.container, series, g.onNodes),
      q.node,
      q.select('interference_container_info', here),
      q.container,
      q.select('interference_container_info', here),
    ],

  grafanaDashboards+:: {
    'container.json': g.dashboard(
      g.uid.container,
      'Container',
      'One container: its memory latency and slowdown, and who else was busy at the time.',
      g.variables(oneNode=true, containers=true, oneContainer=true),
      [
        ['Now', [
          g.stat('Latency',
                 'Mean latency of its memory reads. High against the baseline: neighbours make it wait.',
                 's',
                 'avg(%s)' % latency,
                 { decimals: 0, noValue: 'reads no memory' }),
          g.stat('Baseline',
                 'What it waits when its neighbours are calm. High by itself: its memory is remote, persistent, or slow.',
                 's',
                 'avg(%s)' % gauge('memory_read_latency_baseline_seconds'),
                 { decimals: 0, noValue: 'not yet known' }),
          g.stat('Threshold',
                 'What counts as too long: from the thresholds file, else the baseline times a factor.',
                 's',
                 'avg(%s)' % gauge('memory_read_latency_threshold_seconds'),
                 { decimals: 0, noValue: 'none yet' }),
          g.stat('Time above threshold',
                 'Share of the last 15 minutes. High: see the runbook of InterferenceMemoryLatencyHigh.',
                 'percentunit',
                 'max(container:interference_memory_read_latency_over_threshold:ratio15m{%s})' % here,
                 { decimals: 0, noValue: 'no threshold yet', steps: [['green', null], ['orange', config.latencyShare]] }),
          g.stat('Slowdown',
                 'How many times slower it runs than it would alone (model %s). High: see the runbook of InterferenceContainerSlowdown.' % config.slowdownModel,
                 'suffix:×',
                 'max(container:interference_slowdown:ratio5m{%s})' % model,
                 { decimals: 2, noValue: 'no estimate', steps: [['green', null], ['orange', config.slowdownBound]] }),
          g.stat('CPU',
                 'CPUs that it keeps busy. High: it uses much CPU; a core that waits for memory counts as busy.',
                 'suffix: CPUs',
                 'sum(%s)' % q.ratio(
                   sum('cpu_reference_cycles'),
                   'max by (%s) (%s)' % [q.node, q.select('interference_cpu_base_frequency_hertz', g.onNodes)],
                   'on (%s) group_left ()' % q.node
                 ),
                 { decimals: 2, noValue: 'idle' }),
        ]],
        ['Latency', [
          g.timeseries(
            'Memory read latency and its threshold',
            'Mean latency of its memory reads; the band lies between what it waits when left alone and what is too long. Above the band: neighbours keep the memory busy. Gaps: it read no memory.',
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
            'How many of its one-second windows had which latency. Only with --collector.core_latency.histogram=container. A tail upwards: it waits long at times, which the mean hides.',
            'sum by (le) (%s)' % g.rate('le', 'interference_container_memory_read_window_latency_seconds_bucket', here),
            { h: 10, noValue: 'only with --collector.core_latency.histogram=container' }
          ),
          g.timeseries(
            'Time above the threshold',
            'Share of its observed time above the threshold. Above %d %% over 15 minutes it alerts.' % (config.latencyShare * 100),
            'percentunit',
            [g.target(q.ratio(sum('memory_read_latency_over_threshold_seconds'), sum('memory_read_latency_observed_seconds')), pod)],
            { min: 0, max: 1, noValue: 'no threshold yet', limits: [['red', config.latencyShare]] }
          ),
          g.timeseries(
            'Memory reads',
            'Reads from memory per second. High: it depends on memory, and loads it for others. Rising with its latency: it makes itself wait.',
            'rps',
            [g.target(sum('memory_reads'), pod)],
            { min: 0 }
          ),
        ]],
        ['Slowdown', [
          g.timeseries(
            'Slowdown',
            'How many times slower it runs than it would alone (model %s). High: its neighbours hurt it.' % config.slowdownModel,
            'suffix:×',
            [g.target('1 / ((1 -\n%s\n) > 0)' % lost(q.container), pod)],
            { w: 8, min: 1, noValue: 'no estimate', limits: [['red', config.slowdownBound]] }
          ),
          g.timeseries(
            'Lost cycles, by what was contended',
            'Share of its cycles lost to neighbours. memory: they keep it busy; move or limit who reads most. cache: they evict its lines; separate them.',
            'percentunit',
            [g.target(lost(q.container + ', resource'), '{{resource}} {{pod}}/{{container}}')],
            { w: 8, min: 0, stack: true, noValue: 'no estimate' }
          ),
          g.timeseries(
            'Last-level cache accesses, shared and alone',
            'Accesses per second of its running time: as it is, and as it would be alone. The further apart, the more it is slowed down. "Alone" needs --collector.slowdown.alone-rate.',
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
        ['Who else was busy', [
          g.timeseries(
            'Memory reads of others on the node',
            'The ten other containers that read most memory on the same node. One that rises when the latency above rises is the first suspect.',
            'rps',
            [g.target(others('interference_container_memory_reads_total'), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
          g.timeseries(
            'Last-level cache reads of others on the node',
            'The ten other containers that use the last-level cache most. One that rises when cycles are lost to the cache is the first suspect.',
            'rps',
            [g.target(others('interference_container_llc_reads_total'), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
          g.timeseries(
            'CPU cycles of others on the node',
            'The ten other containers that use most CPU. High alone is no interference; beside few reads it is a neighbour that does no harm.',
            'hertz',
            [g.target(others('interference_container_cpu_cycles_total'), pod)],
            { w: 8, links: [g.toContainer], min: 0, noValue: 'alone' }
          ),
        ]],
        ['How it runs', [
          g.timeseries(
            'Instructions per cycle',
            'Low: it waits much, for memory or for something else. Compare it with itself: a fall without a change of work is a loss.',
            'short',
            [g.target(q.ratio(sum('cpu_instructions'), sum('cpu_cycles')), pod)],
            { w: 8, min: 0, decimals: 2 }
          ),
          g.timeseries(
            'Cycles with a memory read outstanding',
            'Share of its cycles. Near 100 %: it lives on memory, and every nanosecond of latency costs it.',
            'percentunit',
            [g.target(q.ratio(sum('memory_read_active_cycles'), sum('cpu_cycles')), pod)],
            { w: 8, min: 0 }
          ),
          g.timeseries(
            'Last-level cache misses',
            'Share of its reads of the last-level cache that went on to memory. High: the cache does not hold what it needs; rising beside a neighbour: it is being evicted.',
            'percentunit',
            [g.target(q.ratio(sum('memory_reads'), sum('llc_reads')), pod)],
            { w: 8, min: 0, max: 1 }
          ),
        ]],
      ],
    ),
  },
}
