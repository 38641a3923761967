// Fleet: which nodes and containers suffer now?
//
// Thousands of nodes: over a range it asks for what is recorded per node or cluster, never for
// containers. Those are asked for once, for now, by the table.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local model = 'model="%s"' % config.slowdownModel,
  local here = g.onNodes,
  local nodeName = '{{%s}} {{%s}}' % [config.clusterLabel, config.nodeLabel],
  local share = 'container:interference_memory_read_latency_over_threshold:ratio15m{%s}' % here,
  local slowdown = 'container:interference_slowdown:ratio5m{%s, %s}' % [here, model],
  local worst = 'node:interference_slowdown:max_ratio5m{%s, %s}' % [here, model],
  local waiting = 'node:interference_containers_waiting:count15m{%s}' % here,
  local monitored = 'node:interference_containers_monitored:sum{%s}' % here,
  // The same series at each step of a range: those that are highest over all of it.
  local highest(n, series) = '%s\nand\ntopk(%d, avg_over_time(%s[$__range] @ end()))' % [series, n, series],

  // Not every container that waits has an estimate of its slowdown.
  local sum(series) = 'sum by (%s) (%s)' % [q.container, series],
  local chosen = 'topk(20, %s)\nor\ntopk(20, %s > 0)' % [sum(slowdown), sum(share)],
  local ofChosen(series) = '%s\nand on (%s) (\n%s\n)' % [sum(series), q.container, chosen],
  local suffering = g.table(
    'Most affected containers, now',
    'The twenty containers with the highest slowdown, and the twenty that were above their threshold longest. High: they wait longer than is normal for them; follow the link to see which neighbours were busy. Empty values: not measured on that machine, or the container hardly reads memory.',
    [
      {
        name: 'Slowdown',
        unit: 'suffix:×',
        decimals: 2,
        steps: [['text', null], ['orange', config.slowdownBound]],
        expr: ofChosen(slowdown),
      },
      {
        name: 'Above threshold',
        unit: 'percentunit',
        decimals: 0,
        steps: [['text', null], ['orange', config.latencyShare]],
        expr: ofChosen(share),
      },
      {
        name: 'Latency',
        unit: 's',
        decimals: 0,
        expr: ofChosen('container:interference_memory_read_latency_seconds:mean5m{%s}' % here),
      },
      {
        name: 'Reads',
        unit: 'rps',
        expr: ofChosen('container:interference_memory_reads:rate5m{%s}' % here),
      },
    ],
    [config.clusterLabel, config.nodeLabel, 'namespace', 'pod', 'container'],
    { h: 9, linked: ['container', g.rowToContainer] }
  ),

  local mean = 'container:interference_caused_latency_seconds:mean10m{%s}' % here,
  local worstCauses = 'topk(20, sum by (%s, numa_node) (%s) > 0)' % [q.container, mean],
  local aggressors = g.table(
    'Containers that make memory slow, now',
    'The twenty containers that make a read of the memory of their NUMA node take longest, on average over ten minutes: by how much, as a share of what it takes when it is calm, and how many containers of that node pay for it. It alerts above %g %%. High: move or limit it; see the runbook of InterferenceAggressor.' % (config.aggressorShare * 100),
    [
      { name: 'Caused', unit: 's', decimals: 1, expr: worstCauses },
      {
        name: 'Slower by',
        unit: 'percentunit',
        decimals: 0,
        steps: [['text', null], ['orange', config.aggressorShare]],
        expr: '%s\n/ on (%s) group_left ()\nnuma:interference_memory_latency_seconds:calm1h' % [worstCauses, q.memory],
      },
      {
        name: 'Containers there',
        unit: 'short',
        decimals: 0,
        expr: '0 * (%s)\n+ on (%s) group_left ()\n%s' % [worstCauses, q.node, monitored],
      },
    ],
    [config.clusterLabel, config.nodeLabel, 'numa_node', 'namespace', 'pod', 'container'],
    { h: 8, noValue: 'none', linked: ['container', g.rowToContainer] }
  ),

  grafanaDashboards+:: {
    'fleet.json': g.dashboard(
      g.uid.fleet,
      'Fleet',
      'Which nodes and containers are slowed down now.',
      g.variables(),
      [
        ['Now', [
          g.stat(
            'Nodes',
            'Nodes whose exporter was scraped. If you have more nodes: look for InterferenceExporterDown, or for nodes without the exporter.',
            'short',
            'count(count by (%s) (%s))' % [q.node, q.select('interference_exporter_build_info', here)],
            { noValue: 'none' }
          ),
          g.stat(
            'Containers',
            'Number of monitored containers.',
            'short',
            'sum(%s)' % monitored,
            { noValue: 'none' }
          ),
          g.stat(
            'Waiting too long',
            'Containers whose memory reads were above their threshold for more than %d %% of the last 15 minutes. Above 0: see the tables below, and the runbook of InterferenceMemoryLatencyHigh.' % (config.latencyShare * 100),
            'short',
            'sum(%s)' % waiting,
            { noValue: 'not measured', steps: [['green', null], ['orange', 1]] }
          ),
          g.stat(
            'Most slowed down',
            'The highest slowdown of any container, estimated (model %s). High: see the table below, and the runbook of InterferenceContainerSlowdown.' % config.slowdownModel,
            'suffix:×',
            'max(%s)' % worst,
            { decimals: 2, noValue: 'no estimate', steps: [['green', null], ['orange', config.slowdownBound]] }
          ),
          g.stat(
            'Alerts firing',
            'Firing alerts of this mixin. Each one links to a runbook.',
            'short',
            'count(ALERTS{alertname=~"Interference.+", alertstate="firing", %s})\nor\n0 * sum(%s)' % [here, monitored],
            { noValue: 'no rules', steps: [['green', null], ['orange', 1]] }
          ),
          g.stat(
            'Nodes without counters',
            'Nodes that expose no usable hardware counters (most virtual machines): only the probe measures there. That is normal, and no fault of the exporter.',
            'short',
            'count(count by (%s) (%s))\nor\n0 * sum(%s)'
            % [q.node, q.select('interference_exporter_collector_info', here + ', collector="core_latency", reason=~"no_pmu|unsupported_cpu"'), monitored],
            { noValue: 'no exporter' }
          ),
        ]],
        ['Containers', [
          suffering,
          aggressors,
          g.timeseries(
            'Worst slowdown by node, ten highest',
            'The highest slowdown of any container of the node over five minutes, estimated (model %s). It alerts above %g for 15 minutes. High: open the node, then move or limit the container that reads most.' % [config.slowdownModel, config.slowdownBound],
            'suffix:×',
            [g.target(highest(10, worst), nodeName)],
            { links: [g.toNode], min: 1, limits: [['red', config.slowdownBound]], noValue: 'no estimate' }
          ),
          g.timeseries(
            'Containers waiting too long, by node, ten highest',
            'Containers of a node whose memory reads were above their threshold for more than %d %% of the last 15 minutes. Many on one node: the node is packed too tightly, or one container keeps its memory busy.' % (config.latencyShare * 100),
            'short',
            [g.target(highest(10, waiting), nodeName)],
            { links: [g.toNode], min: 0, decimals: 0, noValue: 'not measured' }
          ),
        ]],
        ['Nodes', [
          g.history(
            'Worst time above the threshold, by node',
            'For each node, the container with the longest time above its threshold, as a share of 15 minutes; the 30 highest nodes. Red: a container there waits most of the time; look at that node.',
            'percentunit',
            g.target(highest(30, 'node:interference_memory_read_latency_over_threshold:max_ratio15m{%s}' % here), nodeName),
            { min: 0, max: 1, w: 8, h: 10, links: [g.toNode], noValue: 'no thresholds yet' }
          ),
          g.history(
            'Memory read latency by node',
            'Mean memory read latency over all containers of a node; the 30 highest nodes. Green: as fast as local DRAM. Red: above 200 ns, because of remote or persistent memory, or because all containers wait. A node that turns red came under load; a node that is always red has slow memory or is packed too tightly.',
            's',
            g.target(highest(30, 'node:interference_memory_read_latency_seconds:mean5m{%s}' % here), nodeName),
            { min: 70e-9, max: 200e-9, w: 8, h: 10, links: [g.toNode] }
          ),
          g.heatmap(
            'All windows of all containers',
            'How many one-second windows of containers had each memory read latency, on all nodes of the selected clusters. A second band above the usual one: some containers wait while others do not.',
            local recorded(name) = 'cluster:interference_memory_read_window_latency_seconds%s:rate5m{%s=~"$cluster"}' % [name, config.clusterLabel];
            q.buckets(recorded('_bucket'), recorded('')),
            { w: 8, h: 10 }
          ),
          g.timeseries(
            'Memory reads by node, ten highest',
            'Reads from memory per second, by all containers of a node. High: the node uses its memory a lot; contention is likely to appear here first.',
            'rps',
            [g.target(highest(10, 'node:interference_memory_reads:rate5m{%s}' % here), nodeName)],
            { links: [g.toNode], min: 0 }
          ),
          g.timeseries(
            'Probe against its baseline, ten highest',
            "Latency of a load, measured by the exporter's own pointer chase, divided by its best values of the last day. Works on every machine. High: the memory is contended, by this node or by another guest of the same host.",
            'suffix:×',
            [g.target(
              'topk(10, max by (%s) (\n  numa:interference_memory_probe_latency_seconds:mean5m{%s}\n  / numa:interference_memory_probe_latency_seconds:baseline1d\n))' % [q.node, here],
              nodeName
            )],
            { links: [g.toNode], noValue: 'less than an hour of history' }
          ),
        ]],
        ['What the exporters can see', [
          g.table(
            'Collectors',
            'On how many nodes each collector works (reason ok), or why it does not. no_permission, fd_limit and event_filtered alert: the machine has the counters, but something blocks the exporter.',
            [{
              name: 'Nodes',
              unit: 'short',
              expr: 'count by (collector, reason) (%s == 1)' % q.select('interference_exporter_collector_info', here),
            }],
            ['collector', 'reason'],
            { w: 12, h: 8 }
          ),
          g.timeseries(
            'Exporters that cannot be scraped',
            'Instances that Prometheus failed to scrape. Above 0: interference there goes unnoticed; see the runbook of InterferenceExporterDown.',
            'short',
            [g.target('count by (%s) (up{%s, %s} == 0)' % [config.clusterLabel, config.jobSelector, here],
                      'down {{%s}}' % config.clusterLabel)],
            { min: 0, decimals: 0, noValue: 'none' }
          ),
        ]],
      ],
    ),
  },
}
