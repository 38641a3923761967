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
    'Containers that suffer most, now',
    'The twenty containers with the highest slowdown, and the twenty that were above their threshold longest. High: neighbours make them wait; follow the link to see who was busy at the time. Empty values: not measured on that machine, or the container hardly reads memory.',
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

  grafanaDashboards+:: {
    'fleet.json': g.dashboard(
      g.uid.fleet,
      'Fleet',
      'Which nodes and containers suffer from their neighbours now.',
      g.variables(),
      [
        ['Now', [
          g.stat(
            'Nodes',
            'Nodes whose exporter was scraped. Fewer than you have: look for InterferenceExporterDown, or for nodes without the exporter.',
            'short',
            'count(count by (%s) (%s))' % [q.node, q.select('interference_exporter_build_info', here)],
            { noValue: 'none' }
          ),
          g.stat(
            'Containers',
            'Containers that are monitored.',
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
            'How many times slower than alone the most slowed container runs (model %s). High: see the table below, and the runbook of InterferenceContainerSlowdown.' % config.slowdownModel,
            'suffix:×',
            'max(%s)' % worst,
            { decimals: 2, noValue: 'no estimate', steps: [['green', null], ['orange', config.slowdownBound]] }
          ),
          g.stat(
            'Alerts firing',
            'Alerts of this mixin that fire. Each leads to a runbook.',
            'short',
            'count(ALERTS{alertname=~"Interference.+", alertstate="firing", %s})\nor\n0 * sum(%s)' % [here, monitored],
            { noValue: 'no rules', steps: [['green', null], ['orange', 1]] }
          ),
          g.stat(
            'Nodes without counters',
            'Nodes that show no hardware counters (most virtual machines): only the probe measures there. That is normal, and no fault of the exporter.',
            'short',
            'count(count by (%s) (%s))\nor\n0 * sum(%s)'
            % [q.node, q.select('interference_exporter_collector_info', here + ', collector="core_latency", reason=~"no_pmu|unsupported_cpu"'), monitored],
            { noValue: 'no exporter' }
          ),
        ]],
        ['Containers', [
          suffering,
          g.timeseries(
            'Worst slowdown by node, ten highest',
            'How many times slower than alone the most slowed container of a node runs, over five minutes (model %s). Above %g for 15 minutes it alerts. High: see the node, then move or limit who reads most.' % [config.slowdownModel, config.slowdownBound],
            'suffix:×',
            [g.target(highest(10, worst), nodeName)],
            { links: [g.toNode], min: 1, limits: [['red', config.slowdownBound]], noValue: 'no estimate' }
          ),
          g.timeseries(
            'Containers waiting too long, by node, ten highest',
            'Containers of a node whose memory reads were above their threshold for more than %d %% of the last 15 minutes. Many on one node: it is packed too tightly, or one neighbour keeps its memory busy.' % (config.latencyShare * 100),
            'short',
            [g.target(highest(10, waiting), nodeName)],
            { links: [g.toNode], min: 0, decimals: 0, noValue: 'not measured' }
          ),
        ]],
        ['Nodes', [
          g.history(
            'Worst time above the threshold, by node',
            'Share of 15 minutes above its threshold, of the container of a node that has most; the 30 highest nodes. Red: somebody there waits most of the time; look at that node.',
            'percentunit',
            g.target(highest(30, 'node:interference_memory_read_latency_over_threshold:max_ratio15m{%s}' % here), nodeName),
            { min: 0, max: 1, w: 8, h: 10, links: [g.toNode], noValue: 'no thresholds yet' }
          ),
          g.history(
            'Memory read latency by node',
            'Mean latency of memory reads of all containers of a node, the 30 highest. Green is what local DRAM takes, red is above 200 ns: remote or persistent memory, or everybody there waits. A node that turns red was loaded; one that is always red is built so, or packed too tightly.',
            's',
            g.target(highest(30, 'node:interference_memory_read_latency_seconds:mean5m{%s}' % here), nodeName),
            { min: 70e-9, max: 200e-9, w: 8, h: 10, links: [g.toNode] }
          ),
          g.heatmap(
            'All windows of all containers',
            'How many one-second windows of containers had which memory read latency, over all nodes of the clusters chosen above. A second band above the usual one: some containers wait while others do not.',
            'sum by (le) (cluster:interference_memory_read_window_latency_seconds_bucket:rate5m{%s=~"$cluster"})' % config.clusterLabel,
            { w: 8, h: 10 }
          ),
          g.timeseries(
            'Memory reads by node, ten highest',
            'Reads from memory per second, of all containers of a node. High: the node uses its memory much, and its containers will hurt each other first.',
            'rps',
            [g.target(highest(10, 'node:interference_memory_reads:rate5m{%s}' % here), nodeName)],
            { links: [g.toNode], min: 0 }
          ),
          g.timeseries(
            'Probe against its baseline, ten highest',
            "Measured latency of a load, by the exporter's own pointer chase, against the best of the last day. Works on every machine. Above %g it alerts. High: the node's memory is contended, or another guest of the same host is." % config.probeFactor,
            'suffix:×',
            [g.target(
              'topk(10, max by (%s) (\n  numa:interference_memory_probe_latency_seconds:mean5m{%s}\n  / numa:interference_memory_probe_latency_seconds:baseline1d\n))' % [q.node, here],
              nodeName
            )],
            { links: [g.toNode], limits: [['red', config.probeFactor]], noValue: 'less than an hour of history' }
          ),
        ]],
        ['What the exporters can see', [
          g.table(
            'Collectors',
            'How many nodes have which collector, and why not. no_permission, fd_limit and event_filtered alert: something keeps the exporter from counters that the machine has.',
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
            'Instances that Prometheus failed to scrape. Above 0: interference there goes unseen; see the runbook of InterferenceExporterDown.',
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
