// Fleet: which nodes and containers suffer now?
//
// Thousands of nodes: it asks for what is recorded per node or cluster, and for the twenty highest containers of
// each cluster, never for all containers; tests/bench/fleet_queries.py measures that. So it has no variable for a
// node: the Node dashboard is for one.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local model = 'model="%s"' % config.slowdownModel,
  local here = g.onClusters,
  local nodeName = '{{%s}} {{%s}}' % [config.clusterLabel, config.nodeLabel],
  local containerName = '{{%s}} {{namespace}}/{{pod}}/{{container}}' % config.nodeLabel,
  // Recorded series of the clusters, with further matchers.
  local recorded(series, matchers='') =
    local all = std.join(', ', std.filter(function(m) m != '', [here, matchers]));
    if all == '' then series else '%s{%s}' % [series, all],
  local slowdown = recorded('top:interference_container_slowdown:ratio5m'),
  local worst = recorded('top:interference_node_slowdown:max_ratio5m', model),
  local waiting = recorded('top:interference_node_containers_waiting:count15m'),
  local probe = recorded('top:interference_node_memory_probe_over_baseline:max_ratio'),
  local monitored = recorded('cluster:interference_containers_monitored:sum'),
  // The same series at each step of a range: those that are highest over all of it, of those that ever were among the
  // thirty of their cluster; a gap is a time in which they were not.
  local highest(n, series) = '%s\nand\ntopk(%d, avg_over_time(%s[$__range] @ end()))' % [series, n, series],

  // A column has no metric's name: rows of several would not be one.
  local column(series) = 'sum by (%s) (%s)' % [q.container, series],
  local suffering = g.table(
    'Most affected containers, now',
    'The twenty containers of each cluster with the highest slowdown, and the twenty that were above their threshold longest. High: they wait longer than is normal for them; follow the link to see which neighbours were busy. Empty values: not measured on that machine, or the container hardly reads memory.',
    [
      {
        name: 'Slowdown',
        unit: 'suffix:×',
        decimals: 2,
        steps: [['text', null], ['orange', config.slowdownBound]],
        expr: column(slowdown),
      },
      {
        name: 'Above threshold',
        unit: 'percentunit',
        decimals: 0,
        steps: [['text', null], ['orange', config.latencyShare]],
        expr: column(recorded('top:interference_container_memory_read_latency_over_threshold:ratio15m')),
      },
      {
        name: 'Latency',
        unit: 's',
        decimals: 0,
        expr: column(recorded('top:interference_container_memory_read_latency_seconds:mean5m')),
      },
      { name: 'Reads', unit: 'rps', expr: column(recorded('top:interference_container_memory_reads:rate5m')) },
    ],
    [config.clusterLabel, config.nodeLabel, 'namespace', 'pod', 'container'],
    { h: 9, noValue: 'none', linked: ['container', g.rowToContainer] }
  ),

  local worstCauses = 'sum by (%s, numa_node) (%s)' % [q.container, recorded('top:interference_container_caused_latency_seconds:mean10m')],
  local aggressors = g.table(
    'Containers that make memory slow, now',
    'The twenty containers of each cluster that make a read of the memory of their NUMA node take longest, on average over ten minutes: by how much, as a share of what it takes when it is calm, and how many containers of that node pay for it. It alerts above %g %%. High: move or limit it; see the runbook of InterferenceAggressor.' % (config.aggressorShare * 100),
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
        expr: '0 * (%s)\n+ on (%s) group_left ()\nnode:interference_containers_monitored:sum' % [worstCauses, q.node],
      },
    ],
    [config.clusterLabel, config.nodeLabel, 'numa_node', 'namespace', 'pod', 'container'],
    { h: 8, noValue: 'none', linked: ['container', g.rowToContainer] }
  ),

  local ofWorkload = '%s, namespace, workload' % config.clusterLabel,
  local workloads = g.table(
    'Workloads that make memory slow, now',
    'The same by what the containers belong to, a Deployment or a DaemonSet for instance: the twenty workloads of each cluster that make a read take longest, all of their containers on a NUMA node together, where it is most; and on how many nodes they do. Many nodes: it is how the workload is, and moving a pod takes it to the next node; ask its owner.',
    [
      {
        name: 'Caused, at most',
        unit: 's',
        decimals: 1,
        expr: 'sum by (%s) (%s)' % [ofWorkload, recorded('top:interference_workload_caused_latency_seconds:max10m')],
      },
      {
        name: 'Nodes',
        unit: 'short',
        decimals: 0,
        expr: 'sum by (%s) (%s)' % [ofWorkload, recorded('top:interference_workload_nodes_slowed:count10m')],
      },
    ],
    [config.clusterLabel, 'namespace', 'workload'],
    { h: 6, noValue: 'none' }
  ),
  local namedOn = 'topk(20, %s)' % recorded('workload:interference_named:nodes'),
  local often = g.table(
    'Workloads that were named, last day',
    'The twenty workloads that were named as making memory slow on most nodes within a day, and on how many nodes they are now. Named on most of them: it is how the workload is, so ask its owner. On one of many: look at that node.',
    [
      { name: 'Named on', unit: 'short', decimals: 0, expr: 'sum by (%s) (%s)' % [ofWorkload, namedOn] },
      {
        name: 'Is on',
        unit: 'short',
        decimals: 0,
        expr: 'sum by (%s) (%s)\nand on (%s)\n%s' % [ofWorkload, recorded('workload:interference_runs:nodes'), ofWorkload, namedOn],
      },
    ],
    [config.clusterLabel, 'namespace', 'workload'],
    { w: 10, h: 8, noValue: 'none' }
  ),
  local unlike = g.table(
    'Unlike the same workload on other nodes',
    'The twenty containers of each cluster whose reads of memory take longest against what is normal for the same container on other nodes with the same CPU (the middle of at least three nodes). High: this node is slower for it than others are, also where the node has always been so and its own normal does not show it.',
    [
      {
        name: 'Against other nodes',
        unit: 'suffix:×',
        decimals: 2,
        steps: [['text', null], ['orange', 1.25]],
        expr: 'sum by (%s, microarchitecture) (%s)' % [q.container, recorded('top:interference_container_latency_over_workload:ratio5m')],
      },
      {
        name: 'Normal there',
        unit: 's',
        decimals: 0,
        expr: '0 * sum by (%s, microarchitecture) (%s)\n+ on (%s, microarchitecture) group_left ()\n%s' % [
          q.container,
          recorded('top:interference_container_latency_over_workload:ratio5m'),
          q.workload,
          recorded('workload:interference_memory_read_latency:normal'),
        ],
      },
    ],
    [config.clusterLabel, config.nodeLabel, 'namespace', 'pod', 'container', 'microarchitecture'],
    { w: 14, h: 8, noValue: 'fewer than three such nodes', linked: ['container', g.rowToContainer] }
  ),

  // Sums over the time range of what is recorded once in each interval, in minutes.
  local minutes(series) = '%g * sum_over_time(%s[$__range])' % [q.seconds(config.interval) / 60, series],
  local lost = recorded('namespace:interference_lost_cpus:rate5m'),
  local used = recorded('namespace:interference_cpus:rate5m'),
  local mostLost = 'topk(20, %s > 0)' % minutes(lost),
  local perNamespace = g.table(
    'Lost to interference, by namespace',
    "What the containers of a namespace would not have needed alone, over the time range: minutes of a CPU, as a share of what they used, container-minutes above the slowdown's bound, and what may be billed: minutes of a CPU used, less those that are known to be lost. Estimated (model %s). High, but for the last: its owners pay for their neighbours; see which of its containers are above." % config.slowdownModel,
    [
      { name: 'Lost, CPU min', unit: 'short', decimals: 0, expr: mostLost },
      {
        name: 'Lost share',
        unit: 'percentunit',
        decimals: 1,
        expr: 'topk(20, sum_over_time(%s[$__range]) > 0)\n/\n(sum_over_time(%s[$__range]) > 0)' % [lost, used],
      },
      {
        name: 'Slow min',
        unit: 'short',
        decimals: 0,
        // Nobody above the bound has no series: 0, where something is lost.
        expr: 'sum by (%s, namespace) (%s)\nor\n0 * (%s)'
              % [config.clusterLabel, minutes(recorded('workload:interference_slow_containers:count')), mostLost],
      },
      {
        name: 'Billable, CPU min',
        unit: 'short',
        decimals: 0,
        expr: '%s\nand on (%s, namespace)\n%s' % [minutes(recorded('namespace:interference_billable_cpus:rate5m')), config.clusterLabel, mostLost],
      },
    ],
    [config.clusterLabel, 'namespace'],
    {
      h: 8,
      noValue: 'no estimate',
      widths: { [config.clusterLabel]: 90, 'Lost, CPU min': 130, 'Lost share': 110, 'Slow min': 100, 'Billable, CPU min': 150 },
    }
  ),
  // What containers waited for, in hours of a container.
  local waited(matchers) = 'sum by (%s, namespace) (%s)' % [
    config.clusterLabel,
    '%g * sum_over_time(%s[$__range])' % [q.seconds(config.interval) / 3600, recorded('namespace:interference_lost:rate5m', matchers)],
  ],
  local hours(name, matchers) = { name: name, unit: 'short', decimals: 1, expr: 'topk(20, %s > 0)' % waited(matchers) },
  local whereTimeWent = g.table(
    'Where the time of containers went, by namespace',
    "What the containers of a namespace waited for over the time range, in hours of a container, added up over its containers: the twenty highest of each column. Own limits: CPU quota and memory limit, which its owner may raise. Itself: more threads than CPUs. Others' CPU: neighbours on its CPUs. Slow memory: mostly neighbours; the tables above name them. The node: memory that is full, the disk, the hypervisor. For a week's report by team, choose the last seven days.",
    [
      hours('Own limits, h', 'cause=~"own_quota|own_memory_limit"'),
      hours("Others' CPU, h", 'cause="cpu_neighbour"'),
      hours('Slow memory, h', 'cause="memory_slow"'),
      hours('The node, h', 'cause=~"memory_full|disk|hypervisor"'),
      hours('Itself, h', 'cause="itself"'),
    ],
    [config.clusterLabel, 'namespace'],
    { w: 14, h: 8, noValue: 'nothing is lost, or lost_time is off', widths: { [config.clusterLabel]: 90 } }
  ),
  local alerts = g.table(
    'Alerts firing',
    'How many alerts of this mixin fire, by name. Each one links to a runbook and to a dashboard.',
    [{
      name: 'Firing',
      unit: 'short',
      expr: 'count by (%s, alertname, severity) (%s)' % [config.clusterLabel, recorded('ALERTS', 'alertname=~"Interference.+", alertstate="firing"')],
    }],
    [config.clusterLabel, 'alertname', 'severity'],
    { w: 10, h: 8, noValue: 'none', widths: { [config.clusterLabel]: 90, severity: 80, Firing: 70 } }
  ),

  grafanaDashboards+:: {
    'fleet.json': g.dashboard(
      g.uid.fleet,
      'Fleet',
      'Which nodes and containers are slowed down now.',
      g.variables(nodes=false),
      [
        ['Now', [
          g.stat(
            'Nodes',
            'Nodes whose exporter was scraped. If you have more nodes: look for InterferenceExporterDown, or for nodes without the exporter.',
            'short',
            'sum(%s)' % recorded('cluster:interference_nodes:count'),
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
            'sum(%s)' % recorded('cluster:interference_containers_waiting:sum'),
            { noValue: 'not measured', steps: [['blue', null], ['orange', 1]] }
          ),
          g.stat(
            'Most slowed down',
            'The container with the highest slowdown, estimated (model %s), and by how much. High: see the table below, and the runbook of InterferenceContainerSlowdown.' % config.slowdownModel,
            'suffix:×',
            'topk(1, %s)' % slowdown,
            { named: containerName, decimals: 2, noValue: 'nobody is', steps: [['blue', null], ['orange', config.slowdownBound]] }
          ),
          g.stat(
            'Alerts firing',
            'Firing alerts of this mixin. Each one links to a runbook.',
            'short',
            'count(%s)\nor\n0 * sum(%s)' % [recorded('ALERTS', 'alertname=~"Interference.+", alertstate="firing"'), monitored],
            { noValue: 'no rules', steps: [['blue', null], ['orange', 1]] }
          ),
          g.stat(
            'Nodes without counters',
            'Nodes that expose no usable hardware counters (most virtual machines): only the probe measures there. That is normal, and no fault of the exporter.',
            'short',
            'sum(%s)\nor\n0 * sum(%s)' % [
              recorded('cluster:interference_collectors:count', 'collector="core_latency", reason=~"no_pmu|unsupported_cpu"'),
              monitored,
            ],
            { noValue: 'no exporter' }
          ),
        ]],
        ['Containers', [
          suffering,
          aggressors,
          workloads,
          unlike,
          often,
          perNamespace { size:: { w: 14, h: 8 } },
          alerts,
          g.timeseries(
            'Worst slowdown by node, ten highest',
            'The highest slowdown of any container of the node over five minutes, estimated (model %s). It alerts above %g for 15 minutes. High: open the node; for memory, move or limit whom *Containers that make memory slow* names.' % [config.slowdownModel, config.slowdownBound],
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
        ['Where their time went', [
          whereTimeWent,
          g.timeseries(
            'Time lost, by cause',
            'What all containers of the selected clusters wait for, added up: 20 means the time of twenty containers. Own quota, own memory limit and itself are for their owners to change; the others are for who runs the nodes.',
            'short',
            [g.target('sum by (cause) (%s)' % recorded('namespace:interference_lost:rate5m'), '{{cause}}')],
            { w: 10, min: 0, stack: true, noValue: 'nothing, or lost_time is off', overrides: g.waitsInWords }
          ),
        ]],
        ['Nodes', [
          g.history(
            'Worst time above the threshold, by node',
            'For each node, the container with the longest time above its threshold, as a share of 15 minutes; the 30 highest nodes. Red: a container there waits most of the time; look at that node. Blue: nobody waits.',
            'percentunit',
            g.target(highest(30, recorded('top:interference_node_memory_read_latency_over_threshold:max_ratio15m')), nodeName),
            { min: 0, max: 1, w: 8, h: 10, links: [g.toNode], noValue: 'no thresholds yet' }
          ),
          g.history(
            'Probe against its baseline, by node',
            "Latency of a load, measured by the exporter's own pointer chase, divided by its best values of the last day; the 30 highest nodes. Blue: as fast as at its best. Red: half as long again. A node that turns red came under load, or its host did.",
            'suffix:×',
            g.target(highest(30, probe), nodeName),
            { min: 1, max: 1.5, w: 8, h: 10, links: [g.toNode], noValue: 'less than an hour of history' }
          ),
          g.heatmap(
            'All windows of all containers',
            'How many one-second windows of containers had each memory read latency, on all nodes of the selected clusters. A second band above the usual one: some containers wait while others do not.',
            local windows(suffix) = recorded('cluster:interference_memory_read_window_latency_seconds%s:rate5m' % suffix);
            q.buckets(windows('_bucket'), windows('')),
            { w: 8, h: 10 }
          ),
          g.timeseries(
            'Score of nodes, ten highest',
            'What a scheduler may move pods by, 0 to 1: the share of the time of a memory read that others cost there, or of the time of the container that loses most to its neighbours, whichever is higher. What containers lose to their own limits is not in it. High: a pod would be better off elsewhere; open the node to see which.',
            'percentunit',
            [g.target(highest(10, recorded('top:interference_node_score:ratio5m')), nodeName)],
            { w: 8, links: [g.toNode], min: 0, max: 1, noValue: 'nothing is lost to others' }
          ),
          g.timeseries(
            'Memory reads by node, ten highest',
            'Reads from memory per second, by all containers of a node. High: the node uses its memory a lot; contention is likely to appear here first.',
            'rps',
            [g.target(highest(10, recorded('top:interference_node_memory_reads:rate5m')), nodeName)],
            { w: 8, links: [g.toNode], min: 0 }
          ),
          g.timeseries(
            'Memory read latency by node, ten highest',
            'Mean memory read latency over all containers of a node. Compare a node with its own past: one that is always high has remote, persistent or slow memory; one that rises came under load.',
            's',
            [g.target(highest(10, recorded('top:interference_node_memory_read_latency_seconds:mean5m')), nodeName)],
            { w: 8, links: [g.toNode], min: 0, noValue: 'not measured' }
          ),
          g.timeseries(
            'Probe against its baseline, ten highest',
            "Latency of a load, measured by the exporter's own pointer chase, divided by its best values of the last day. Works on every machine. High: the memory is contended, by this node or by another guest of the same host.",
            'suffix:×',
            [g.target(highest(10, probe), nodeName)],
            { w: 8, links: [g.toNode], noValue: 'less than an hour of history' }
          ),
        ]],
        ['What the exporters can see', [
          g.table(
            'Collectors',
            'On how many nodes each collector works (reason ok), or why it does not. no_permission, fd_limit, nmi_watchdog, not_calibrated and event_filtered alert: the machine has the counters, but something blocks the exporter.',
            [{
              name: 'Nodes',
              unit: 'short',
              expr: 'sum by (collector, reason) (%s)' % recorded('cluster:interference_collectors:count'),
            }],
            ['collector', 'reason'],
            { w: 8, h: 8 }
          ),
          g.timeseries(
            'Containers without a baseline',
            'Containers of which it is not known what is normal, by reason: not_counted (no counters), no_latency (latencies of the machine are not known), idle (never at work), learning (at work for less than ten minutes). High for other reasons than idle: who waits there goes unseen; see the runbook of InterferenceBlindSpot.',
            'short',
            [g.target('sum by (reason) (%s)' % recorded('cluster:interference_containers_without_baseline:sum'), '{{reason}}')],
            { w: 8, min: 0, decimals: 0, stack: true, noValue: 'no exporter says so' }
          ),
          g.timeseries(
            'Exporters that cannot be scraped',
            'Instances that Prometheus failed to scrape. Above 0: interference there goes unnoticed; see the runbook of InterferenceExporterDown.',
            'short',
            [g.target(recorded('cluster:interference_exporters_down:count'), 'down {{%s}}' % config.clusterLabel)],
            { w: 8, min: 0, decimals: 0, noValue: 'none' }
          ),
        ]],
      ],
      annotations=[g.alerts('Interference(Aggressor|ExcessUnattributed|ManyContainersWait|QueueLatencyHigh)', here)]
    ),
  },
}
