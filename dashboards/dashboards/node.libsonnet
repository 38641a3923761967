// Node: its containers side by side, and its memory as seen from three places.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local here = g.onNodes,
  // Of containers: those of the chosen namespaces, in graphs no more than the variable says.
  local theirs = here + ', namespace=~"$namespace"',
  local top(expr) = 'topk($top, %s)' % expr,
  local model = theirs + ', model="%s"' % config.slowdownModel,
  local name = '{{namespace}}/{{pod}}/{{container}}',
  local socket = q.node + ', socket',
  local pair = q.node + ', initiator_numa_node, target_numa_node',
  local latency(labels, what, matchers=here) = q.ratio(
    g.rate(labels, 'interference_%s_memory_read_wait_seconds_total' % what, matchers),
    g.rate(labels, 'interference_%s_memory_read_latency_reads_total' % what, matchers)
  ),
  local ofContainers = latency(q.container, 'container', theirs),
  local normal = 'max by (%s) (%s)' % [q.container, q.select('interference_container_memory_read_latency_baseline_seconds', theirs)],
  local reads(labels, matchers=theirs) = g.rate(labels, 'interference_container_memory_reads_total', matchers),
  local overThreshold = q.ratio(
    g.rate(q.container, 'interference_container_memory_read_latency_over_threshold_seconds_total', theirs),
    g.rate(q.container, 'interference_container_memory_read_latency_observed_seconds_total', theirs)
  ),
  // As the recorded series have it, for tables and numbers of now: of the last minutes, and cheap.
  local now(series, matchers='') = 'sum by (%s) (%s{%s})' % [
    q.container,
    series,
    std.join(', ', std.filter(function(m) m != '', [theirs, matchers])),
  ],
  local readsNow = now('container:interference_memory_reads:rate5m'),
  local queue(kind) = q.ratio(
    g.rate(socket, 'interference_%s_read_queue_occupancy_cycles_total' % kind, here),
    g.rate(socket, 'interference_%s_read_queue_inserts_total' % kind, here)
  ) + '\n/\n(max by (%s) (%s) > 0)' % [socket, q.select('interference_imc_frequency_hertz', here)],
  local imc = '%s\n+\n(\navg by (%s) (%s)\nor\n0 *\n%s\n)'
              % [queue('imc'), socket, q.select('interference_imc_cas_latency_seconds', here), queue('imc')],
  local l3(labels, matchers='') = q.ratio(
    g.rate(labels, 'interference_l3_miss_read_wait_seconds_total', here + matchers),
    g.rate(labels, 'interference_l3_miss_read_latency_reads_total', here + matchers)
  ),
  local cpi = 'container:interference_cycles_per_instruction:ratio5m{%s}' % theirs,
  // Once for the whole graph, not a day's samples at each of its points.
  local calmCpi = 'quantile_over_time(0.1, %s[1d] @ end())' % cpi,
  local probe = q.probe(pair, config.grafanaIntervalVar, here),
  // A NUMA node's own memory is its nearest.
  local present = 'avg by (%s) (min by (%s, target_numa_node) (%s))' % [q.node, q.node, probe],
  local excess(labels, matchers='') = g.ofReadings(labels, 'interference_memory_excess_latency_seconds_total', matchers),
  // The latencies that containers cause may be more than the excess in which they are named: shares of it.
  local caused = g.ofReadings(q.container, 'interference_container_caused_latency_seconds_total'),
  local causedShare = '(%s)\n/ on (%s) group_left ()\n(sum by (%s) (%s) > 0)\n* on (%s) group_left ()\n%s' % [
    caused,
    q.node,
    q.node,
    caused,
    q.node,
    excess(q.node, 'by="named"'),
  ],
  local byMemory = q.container + ', numa_node',
  local causedOver = q.ratio(
    q.rate(byMemory, 'interference_container_caused_latency_seconds_total', '$__range', here),
    q.rate(q.memory, 'interference_memory_attribution_readings_total', '$__range', here),
    'on (%s) group_left ()' % q.memory
  ),
  local causedNow(metric) = 'max by (%s) (%s)' % [byMemory, q.select('interference_container_caused_latency_' + metric, here)],
  local lost(resource) = q.ratio(
    g.rate(q.container, 'interference_container_interference_cycles_total', model + ', resource="%s"' % resource),
    g.rate(q.container, 'interference_container_slowdown_observed_cycles_total', model)
  ),
  // Of each target, and what is of a container beside each of its targets.
  local elsewhere = 'sum by (%s, target) (container:interference_placement_slowdown:ratio5m{%s})' % [q.container, theirs],
  local beside(series) = '(%s)\n* on (%s) group_right ()\n(0 * %s + 1)' % [now(series), q.container, elsewhere],
  local slowdown =
    '1 / ((1 -\n%s\n) > 0)' % q.ratio(
      g.rate(q.container, 'interference_container_interference_cycles_total', model),
      g.rate(q.container, 'interference_container_slowdown_observed_cycles_total', model)
    ),

  grafanaDashboards+:: {
    'node.json': g.dashboard(
      g.uid.node,
      'Node',
      'The containers of one node side by side, and the latency of its memory as controllers, cores and probe see it.',
      g.variables(oneNode=true, namespaces=true) + [g.top],
      [
        ['Now', [
          g.stat(
            'Memory read latency',
            'Mean memory read latency over all containers. High compared with its usual value: the memory is contended.',
            's',
            latency(q.node, 'node'),
            { decimals: 0, noValue: 'not measured here' }
          ),
          g.stat(
            'Worst time above threshold',
            'The container with the longest time above its threshold, and that as a share of the last 15 minutes. High: its reads take longer than is normal for it; the panels below show why.',
            'percentunit',
            'topk(1, %s)' % now('container:interference_memory_read_latency_over_threshold:ratio15m'),
            { named: name, decimals: 0, noValue: 'no threshold: see Without a baseline', steps: [['blue', null], ['orange', config.latencyShare]] }
          ),
          g.stat(
            'Most slowed down',
            'The container with the highest slowdown, and by how much, estimated (model %s). High: the panels below show by what.' % config.slowdownModel,
            'suffix:×',
            'topk(1, %s)' % now('container:interference_slowdown:ratio5m', 'model="%s"' % config.slowdownModel),
            { named: name, decimals: 2, noValue: 'no estimate: see Without a baseline', steps: [['blue', null], ['orange', config.slowdownBound]] }
          ),
          g.stat(
            'Probe',
            'Latency of a load from the nearest memory, measured by the exporter itself; with several NUMA nodes, the highest one. High compared with its usual value: the memory is contended. Works on every machine.',
            's',
            'max(min by (%s, initiator_numa_node) (%s))' % [q.node, probe],
            { decimals: 0, noValue: 'no probe' }
          ),
          g.stat(
            'Containers',
            'Number of monitored containers.',
            'short',
            'sum(%s)' % q.select('interference_exporter_containers', here + ', state="monitored"'),
            { noValue: 'none' }
          ),
          g.stat(
            'Source',
            'Where the counts come from. "replay": nothing here is measured now; everything comes from a recording.',
            'short',
            'sum by (source, microarchitecture) (%s)' % q.select('interference_exporter_source_info', here),
            { now: true, name: true, legend: '{{source}} {{microarchitecture}}', noValue: 'no exporter' }
          ),
        ]],
        ['Containers, now', [
          g.table(
            'Who waits, and who reads',
            'Each container: how much longer its work takes than alone, its latency as a multiple of its normal one, how long it was above its threshold, its reads, and their share of all reads of the node; the share of its time that it waits for what costs it most, and what that is. The first rows wait most. Empty values: not measured on that machine, or the container hardly reads memory.',
            [
              {
                name: 'Slowdown',
                unit: 'suffix:×',
                decimals: 2,
                steps: [['text', null], ['orange', config.slowdownBound]],
                expr: now('container:interference_slowdown:ratio5m', 'model="%s"' % config.slowdownModel),
              },
              {
                name: 'Latency / normal',
                unit: 'suffix:×',
                decimals: 2,
                steps: [['text', null], ['orange', 1.25]],
                expr: '%s\n/ on (%s)\n%s' % [now('container:interference_memory_read_latency_seconds:mean5m'), q.container, normal],
              },
              {
                name: 'Above threshold',
                unit: 'percentunit',
                decimals: 0,
                steps: [['text', null], ['orange', config.latencyShare]],
                expr: now('container:interference_memory_read_latency_over_threshold:ratio15m'),
              },
              { name: 'Reads', unit: 'rps', decimals: 1, expr: readsNow },
              {
                name: 'Share of all reads',
                unit: 'percentunit',
                decimals: 0,
                expr: '%s\n/ on (%s) group_left ()\n(sum by (%s) (container:interference_memory_reads:rate5m{%s}) > 0)'
                      % [readsNow, q.node, q.node, here],
              },
              {
                name: 'Waits',
                unit: 'percentunit',
                decimals: 0,
                steps: [['text', null], ['orange', config.lostShareOften]],
                expr: 'sum by (%s, cause) (container:interference_lost_most:ratio5m{%s})' % [q.container, theirs],
              },
            ],
            ['namespace', 'pod', 'container'],
            g.waitsFor { h: 9, noValue: 'no counters here', empty: '–', hidden: [config.clusterLabel, config.nodeLabel], linked: ['container', g.rowToContainer] }
          ),
        ]],
        ['Who takes CPU', [
          g.timeseries(
            'CPU that others wait for',
            'Of each container that uses more CPU than its weight entitles it to while others wait for one: its share of their wait, in seconds of each second. High: it makes others wait; move it, limit it, or raise what the others request. Empty, while containers wait for a CPU: nobody takes more than he is entitled to, and the node has too little.',
            'suffix: s/s',
            [g.target(top(g.rate(q.container, 'interference_container_cpu_taken_seconds_total', theirs)), name)],
            { links: [g.toContainer], min: 0, stack: true, noValue: 'nobody takes more than he is entitled to' }
          ),
          g.timeseries(
            'Time lost on this node, by cause',
            'What all containers of the node wait for, added up: 2 means the time of two containers. Own quota and itself are for their owners to change; the others are for who runs the node.',
            'short',
            [g.target(g.rate('cause', 'interference_container_lost_seconds_total', theirs), '{{cause}}')],
            { min: 0, stack: true, noValue: 'nothing, or lost_time is off', overrides: g.waitsInWords }
          ),
        ]],
        ['Who makes memory slow', [
          g.timeseries(
            'Memory latency by cause',
            'What a read of memory takes, as the probe measures it, from the calm latency upwards: what each named container adds, groups of containers that work at the same times, processes of the host, and what nobody is named for; the bands add up to what the probe measures. A container with a wide band: move or limit it (runbook of InterferenceAggressor). A wide unknown: see the runbook of InterferenceExcessUnattributed. With several NUMA nodes: their mean.',
            's',
            [
              g.target('%s\n-\n%s' % [present, excess(q.node)], 'calm'),
              g.target('%s > 0' % excess(q.node + ', by', 'by!="named"'), '{{by}}'),
              g.target(top('%s > 0' % causedShare), name),
              g.target(present, 'probe'),
            ],
            {
              w: 24,
              h: 10,
              min: 0,
              stack: true,
              links: [g.toContainer],
              noValue: 'needs the probe',
              overrides: g.causes + [
                g.byName('calm', { color: { mode: 'fixed', fixedColor: 'super-light-blue' }, 'custom.fillOpacity': 5 }),
                g.byName('probe', {
                  color: { mode: 'fixed', fixedColor: 'text' },
                  'custom.fillOpacity': 0,
                  'custom.stacking': { mode: 'none', group: 'B' },
                }),
              ],
            }
          ),
          g.table(
            'Containers that make memory slow',
            'How much longer a read of the NUMA node takes because of each container: now, with one standard deviation, and on average over the time range. High: move or limit it. Empty now: not named at this moment. How sure it is: /api/v1/interference of the exporter.',
            [
              { name: 'Caused now', unit: 's', decimals: 0, expr: causedNow('current_seconds') },
              { name: '±', unit: 's', decimals: 0, expr: causedNow('uncertainty_seconds') },
              { name: 'Mean', unit: 's', decimals: 1, expr: '%s > 0' % causedOver },
            ],
            ['namespace', 'pod', 'container', 'numa_node'],
            { h: 6, noValue: 'none', hidden: [config.clusterLabel, config.nodeLabel], linked: ['container', g.rowToContainer] }
          ),
        ]],
        ['Containers', [
          g.timeseries(
            'Memory read latency, compared with normal',
            'Mean memory read latency of each container, as a multiple of its own baseline; the dashboard Container has it in nanoseconds. 1: normal. One line above the others: its memory has moved, or its own reads queue behind each other. All lines rise together: the memory is contended.',
            'suffix:×',
            [g.target(top('%s\n/ on (%s)\n%s' % [ofContainers, q.container, normal]), name)],
            { links: [g.toContainer], noValue: 'none: see Without a baseline' }
          ),
          g.timeseries(
            'Slowdown (model %s)' % config.slowdownModel,
            'How many times as long the work of each container takes as it would take alone, estimated. %s High: memory or cache cost it more than alone; the panels below show which.' % g.modelsError,
            'suffix:×',
            [g.target(top(slowdown), name)],
            { links: [g.toContainer], min: 1, noValue: 'no estimate: see Without a baseline', limits: g.slowdownLimits, grey: true }
          ),
          g.timeseries(
            'Lost to memory',
            'Estimated share of its cycles that a container loses because others keep the memory busy. High: someone makes it wait; who, is in the row above, where it is known.',
            'percentunit',
            [g.target(top(lost('memory')), name)],
            { links: [g.toContainer], min: 0, noValue: 'no estimate: see Without a baseline' }
          ),
          g.timeseries(
            'Lost to the cache',
            "Estimated share of its cycles that a container loses because others evict its lines from the last-level cache. High: separate them, by socket or by cache partitions. Absent if the machine's llc_hit_cycles is unknown.",
            'percentunit',
            [g.target(top(lost('cache')), name)],
            { links: [g.toContainer], min: 0, noValue: 'no estimate: see Without a baseline' }
          ),
          g.timeseries(
            'Memory reads',
            'Reads from memory per second, stacked. It is what they ask for, not what they do to others: reads of prefetchers and writes are not in it, and whose latency suffers depends on where the memory is.',
            'rps',
            [g.target(top(reads(q.container)), name)],
            { links: [g.toContainer], min: 0, stack: true, noValue: 'not measured here' }
          ),
          g.timeseries(
            'Time above the threshold',
            'Share of the observed time in which a container waited longer than its threshold. It alerts above %d %% over 15 minutes.' % (config.latencyShare * 100),
            'percentunit',
            [g.target(top(overThreshold), name)],
            { links: [g.toContainer], min: 0, max: 1, noValue: 'no threshold: see Without a baseline', limits: [['red', config.latencyShare]] }
          ),
        ]],
        ['Memory', [
          g.timeseries(
            'One read, seen from three places',
            'Controllers (Intel): the time inside the memory controllers, over all programs; without --collector.imc_rpq.cas-latency only the time in their queues, 10 to 20 ns too low. L3s (AMD): the time from the L3 caches to memory and back, over all programs. Cores: the mean latency of the containers, including caches and interconnect. Probe: one load at a time, measured. All high: the memory is contended. Only the cores high: a container uses remote or persistent memory, or the caches are busy.',
            's',
            [
              g.target(imc, 'controllers of socket {{socket}}'),
              g.target(l3(socket, ', source=~"near_dram|any"'), 'L3s of socket {{socket}}'),
              g.target(latency(q.node, 'node'), 'cores'),
              g.target(probe, 'probe {{initiator_numa_node}} to {{target_numa_node}}'),
            ],
            { h: 10, min: 0 }
          ),
          g.heatmap(
            'All windows of all containers',
            'How many one-second windows of containers had each latency. A band that widens upwards: some containers sometimes wait long.',
            g.histogram('interference_node_memory_read_window_latency_seconds', here),
            { h: 10, noValue: 'not measured here' }
          ),
          g.timeseries(
            'Reads by controller',
            'Reads that entered each memory controller per second, including those of devices and prefetchers. One far above the others: the memory channels are filled unevenly.',
            'rps',
            [g.target(g.rate(socket + ', imc', 'interference_imc_read_queue_inserts_total', here), 'socket {{socket}} controller {{imc}}')],
            { min: 0, noValue: 'controllers are not visible here' }
          ),
          g.timeseries(
            'Misses of the L3, by source',
            "AMD only: how long misses of a socket's L3 caches take, by where the line was: DRAM of the own NUMA node (near_dram) or of another one (far_dram), another core complex (other_ccx), CXL memory (cxl); any: the CPU does not tell. near_dram high: the memory is contended. far_dram or cxl high: so is the way to it.",
            's',
            [g.target(l3(socket + ', source'), 'socket {{socket}} {{source}}')],
            { min: 0, noValue: 'no counters of L3 caches here' }
          ),
          g.timeseries(
            'How wrong the estimate is',
            "Error of the cores' estimate for the probe's own thread, as a share of what the probe measured. Above 10 %: do not trust the latencies of this machine now; see /api/v1/status.",
            'percentunit',
            [g.target('max by (%s, numa_node) (%s)' % [q.node, q.select('interference_core_latency_error_ratio', here)], 'NUMA node {{numa_node}}')],
            { min: 0, noValue: 'needs counters and probe' }
          ),
        ]],
        ['Placement', [
          g.table(
            'What other memory would cost',
            'Each container and each place where its memory could be: how many times as long its work would take with all of its memory there (below 1: faster), how much of its CPU time it loses per 100 ns of latency, how many reads it has under way for each that it waits for (the more, the more a part of its memory costs elsewhere), and how many CPUs it keeps busy. Lowest Times as long on a slow target: it loses least by moving there. Too near to 1 for what mainly stores or is prefetched: too low for a slower target, too high for a faster one. Only with --collector.placement.',
            [
              { name: 'Times as long', unit: 'suffix:×', decimals: 2, steps: [['blue', null], ['text', config.placementGain], ['orange', config.slowdownNoise]], expr: elsewhere },
              { name: 'Lost per 100 ns', unit: 'percentunit', decimals: 1, expr: beside('container:interference_memory_sensitivity:ratio5m') },
              { name: 'Reads at once', unit: 'short', decimals: 1, expr: beside('container:interference_memory_parallelism:ratio5m') },
              { name: 'CPUs', unit: 'short', decimals: 2, expr: beside('container:interference_cpus:rate5m') },
            ],
            ['namespace', 'pod', 'container', 'target'],
            { h: 9, noValue: 'only with --collector.placement', hidden: [config.clusterLabel, config.nodeLabel], linked: ['container', g.rowToContainer] }
          ),
          g.timeseries(
            'CPU time lost per 100 ns of latency',
            'Share of its CPU time that each container would lose if memory were 100 ns slower. High: it must stay on fast memory. Near 0: it can live on slow memory, unless it stores much.',
            'percentunit',
            [g.target(top('1e-7 *\n%s' % q.ratio(
              g.rate(q.container, 'interference_container_memory_serial_reads_total', theirs),
              g.rate(q.container, 'interference_container_placement_observed_seconds_total', theirs)
            )), name)],
            { links: [g.toContainer], min: 0, noValue: 'only with --collector.placement' }
          ),
          g.timeseries(
            'Latency of the targets',
            'What a read takes from the CPUs of each NUMA node to each target, as the predictions use it: the mean of up to 60 readings of the probe, or what --collector.placement.tier says.',
            's',
            [g.target('max by (%s, initiator_numa_node, target) (%s)' % [q.node, q.select('interference_placement_target_latency_seconds', here)], '{{initiator_numa_node}} to {{target}}')],
            { min: 0, noValue: 'only with --collector.placement' }
          ),
        ]],
        ['Cycles per instruction, where latencies are unknown', [
          g.timeseries(
            'Cycles per instruction',
            'How many cycles each container spends on an instruction. It differs between programs; compare a container with itself.',
            'short',
            [g.target(top(cpi), name)],
            { links: [g.toContainer], min: 0, noValue: 'no counters here' }
          ),
          g.timeseries(
            'Beside its own calm value',
            'Cycles per instruction as a multiple of what the container has in the calmest tenth of the day before the right edge. Many containers above 1.5 at once: they share something that is contended. One alone: perhaps it does other work now. It is no latency, and cannot tell which.',
            'suffix:×',
            [g.target(top('%s\n/\n(%s > 0)' % [cpi, calmCpi]), name)],
            { links: [g.toContainer], min: 0, noValue: 'no counters here' }
          ),
        ]],
        ['Governor', [
          g.timeseries(
            'Quota against latency',
            'CPUs that each restricted container may use (in mode observe: would be left), and, on the right, the container of the node whose latency is the highest multiple of its normal. Quotas fall where the latency rises, and it falls after that: it works. Quotas at the bottom and a latency that stays: see the runbook of InterferenceGovernorAtFloor.',
            'suffix: CPUs',
            [
              g.target(top('max by (%s) (%s)' % [q.container, q.select('interference_governor_container_cpu_quota_cores', theirs)]), name),
              g.target(
                'max by (%s) (\n%s\n/ on (%s)\n%s\n)\nand on (%s)\n%s' % [
                  q.node,
                  ofContainers,
                  q.container,
                  normal,
                  q.node,
                  q.select('interference_governor_exporter_up', here),
                ],
                'latency / normal'
              ),
            ],
            {
              w: 12,
              h: 10,
              links: [g.toContainer],
              min: 0,
              noValue: 'no governor here, or nobody is restricted',
              overrides: [
                g.byName('latency / normal', {
                  unit: 'suffix:×',
                  color: { mode: 'fixed', fixedColor: 'text' },
                  'custom.axisPlacement': 'right',
                  'custom.lineStyle': { fill: 'dash', dash: [8, 6] },
                }),
              ],
            }
          ),
          g.timeseries(
            'Decisions of the governor',
            'Decisions per second, by what came of them; dry_run: it only observes. cut again and again: see the runbook of InterferenceGovernorFlapping. foreign, failed: somebody else writes the same files, or they cannot be written; its log says which.',
            'cps',
            [g.target('%s > 0' % g.rate('action, outcome', 'interference_governor_decisions_total', here), '{{action}} {{outcome}}')],
            { w: 6, h: 10, min: 0, stack: true, noValue: 'none' }
          ),
          g.stat(
            'Governor',
            'What it does: observe (it decides, and writes nothing), enforce, paused (everything was given back).',
            'short',
            'max by (mode) (%s == 1)' % q.select('interference_governor_mode', here),
            { w: 6, h: 5, now: true, name: true, legend: '{{mode}}', noValue: 'no governor here' }
          ),
          g.stat(
            'Restricted containers',
            'Containers that it holds back now, or would in mode observe.',
            'short',
            'sum(%s)' % q.select('interference_governor_claims', here + ', actuator!="affinity"'),
            { w: 6, h: 5, noValue: 'no governor here' }
          ),
          g.timeseries(
            'Cache ways of restricted containers',
            'Ways of the last-level cache that each container is kept to (in mode observe: would be). Low: others have the rest. Only with the policies ways and epochs.',
            'short',
            [g.target(top('max by (%s) (%s)' % [q.container, q.select('interference_governor_container_llc_ways', theirs)]), name)],
            { links: [g.toContainer], min: 0, decimals: 0, noValue: 'nobody is kept to fewer ways' }
          ),
          g.timeseries(
            'Memory bandwidth of restricted containers',
            'What Memory Bandwidth Allocation leaves each container, as a percentage of its unrestricted rate of requests (in mode observe: would leave). Low: it reads slowly, hits in the last-level cache included. Only with the policies mba and epochs.',
            'percent',
            [g.target(top('max by (%s) (%s)' % [q.container, q.select('interference_governor_container_mba_percent', theirs)]), name)],
            { links: [g.toContainer], min: 0, max: 100, noValue: 'nobody is slowed down' }
          ),
          g.timeseries(
            'Threads that are kept on CPUs of their own',
            'Threads of each container that the policy nvmm_cores keeps on its few CPUs (in mode observe: would keep), stacked, since they write to persistent memory. Dashed: threads of the node that write there. Many write and none is kept: they are no more than the policy lets be, their containers are in none of its classes, or they may use none of its CPUs; see the panel of their moves.',
            'short',
            [
              g.target(top('max by (%s) (%s)' % [q.container, q.select('interference_governor_container_kept_threads', theirs)]), name),
              g.target('max by (%s) (%s)' % [q.node, q.select('interference_governor_nvmm_writers', here)], 'write'),
            ],
            {
              links: [g.toContainer],
              min: 0,
              decimals: 0,
              stack: true,
              noValue: 'only with the policy nvmm_cores',
              overrides: [
                g.byName('write', {
                  color: { mode: 'fixed', fixedColor: 'text' },
                  'custom.lineStyle': { fill: 'dash', dash: [8, 6] },
                  'custom.fillOpacity': 0,
                  'custom.stacking': { mode: 'none', group: 'A' },
                }),
              ],
            }
          ),
          g.timeseries(
            'Moves of threads',
            'Threads per second that the policy nvmm_cores moved to its CPUs (cut) and gave back (release), by what came of it; and what kept it from more: conflict, a thread may use none of these CPUs; eperm, the governor may not move threads. A thread that writes in bursts moves with each of them: a longer expiry in its configuration keeps it there. limited: more threads than limits.claims or limits.writes_per_second allow.',
            'cps',
            [
              g.target('%s > 0' % g.rate('action, outcome', 'interference_governor_decisions_total', here + ', policy="nvmm_cores"'), '{{action}} {{outcome}}'),
              g.target('%s > 0' % g.rate('reason', 'interference_governor_errors_total', here + ', actuator="affinity"'), '{{reason}}'),
            ],
            { min: 0, noValue: 'no thread is moved' }
          ),
        ]],
        ['Exporter', [
          g.table(
            'Collectors',
            "Which collectors work here (reason ok), and why the others do not. The exporter's /api/v1/status explains each reason and its remedy.",
            [{
              name: 'Works',
              unit: 'short',
              expr: 'max by (collector, reason) (%s == 1)' % q.select('interference_exporter_collector_info', here),
            }],
            ['collector', 'reason'],
            { w: 8, h: 8, hidden: ['Works'] }
          ),
          g.timeseries(
            'Counters at work',
            'Share of the time in which the counters counted, out of the time in which they should have. Below %d %%: other users hold the hardware counters; see the runbook of InterferenceCountersStarved.' % (config.pmuRunningShare * 100),
            'percentunit',
            [g.target(q.ratio(
              g.rate(q.exporter + ', collector', 'interference_exporter_pmu_running_seconds_total', here),
              g.rate(q.exporter + ', collector', 'interference_exporter_pmu_enabled_seconds_total', here)
            ), '{{collector}}')],
            { w: 8, min: 0, max: 1, noValue: 'no counters here' }
          ),
          g.timeseries(
            'Windows without a result',
            "Windows per second that gave no result, by reason. starved: other users hold the counters. preempted, migrated, stolen: the probe's CPU is not quiet.",
            'cps',
            [g.target('%s > 0' % g.rate(q.exporter + ', collector, reason', 'interference_exporter_windows_discarded_total', here), '{{collector}} {{reason}}')],
            { w: 8, min: 0, noValue: 'none' }
          ),
          g.timeseries(
            'Without a baseline, and why',
            'Containers of which it is not known what is normal: not_counted (no counters), no_latency (latencies of the machine are not known), idle (never at work), learning (at work for less than ten minutes); and those that are not monitored: excluded (by --containers.include or --containers.exclude), over_limit (--containers.max). They have neither threshold nor slowdown, and nobody sees them wait. High for no_latency or not_counted: see the table of collectors.',
            'short',
            [
              g.target('sum by (reason) (%s)' % q.select('interference_exporter_containers_without_baseline', here), '{{reason}}'),
              g.target('sum by (state) (%s) > 0' % q.select('interference_exporter_containers', here + ', state!="monitored"'), 'not monitored: {{state}}'),
            ],
            { min: 0, decimals: 0, stack: true, noValue: 'this exporter measures no latency' }
          ),
          g.timeseries(
            'What baselines rest on',
            'Containers by what their normal latency is known from: calm (windows in which the neighbours used the memory little), extrapolated (to neighbours that read nothing), usual (the 20th percentile of the last day), machine (what the probe takes at best, a lower bound). None with calm: the node is never calm, and what is called normal here may be slow already.',
            'short',
            [g.target('count by (basis) (max by (%s, basis) (%s))' % [q.container, q.select('interference_container_memory_read_latency_baseline_seconds', theirs)], '{{basis}}')],
            { min: 0, decimals: 0, stack: true, noValue: 'none has one' }
          ),
        ]],
      ],
      annotations=[g.alerts('Interference.+', here), g.starts(theirs)],
      links=g.exporterLinks
    ),
  },
}
