// Recording rules: what alerts and the fleet's dashboard need, from the raw counters.
//
// Names are level:metric:operation. A level stands for the labels that are left:
//   container  cluster, node, namespace, pod, container (never container_id)
//              Plain cgroups of equal names on a node are one: their ratio of observed time may pass 1.
//              What a container causes is told per NUMA node: numa_node stays, too; what a workload causes there has
//              its namespace and workload at level numa.
//   socket     cluster, node, socket
//   numa       cluster, node and the pair of NUMA nodes, or the one whose memory it is
//   node       cluster, node
//   cluster    cluster
//   workload   cluster, namespace, container: all pods of it; with microarchitecture, too, or by the exporter's label
//              workload, where the name says so
//   namespace  cluster, namespace
//   top        as container or node, but only the highest of each cluster; or cluster, namespace and the exporter's
//              label workload, where the name says so
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local q = promql(config),
  local ofWorkload = '%s, namespace, workload' % config.clusterLabel,
  // One for each node, also where a replay runs beside the live one.
  local cpuOfNode = 'topk by (%s) (1, max by (%s, microarchitecture) (%s))'
                    % [q.node, q.node, q.select('interference_exporter_source_info', 'source!="replay", microarchitecture!="unknown"')],
  local rule(record, expr) = { record: record, expr: std.rstripChars(expr, '\n') },
  local placed = q.rate(q.container, 'interference_container_placement_observed_seconds_total'),
  local numa = q.node + ', initiator_numa_node, target_numa_node',
  local socket = q.node + ', socket',


  // Latencies that are added up over readings: their mean over any range.
  local ofReadings(labels, metric, range) =
    q.ratio(
      q.rate(labels, metric, range),
      q.rate(q.memory, 'interference_memory_attribution_readings_total', range),
      'on (%s) group_left ()' % q.memory
    ),
  local caused(range) =
    ofReadings(q.container + ', numa_node', 'interference_container_caused_latency_seconds_total', range),

  local topNodes(name, matchers='') =
    rule('top:interference_node_' + name, 'topk by (%s) (30, node:interference_%s%s)' % [config.clusterLabel, name, matchers]),
  local ofTop(series) = 'sum by (%s) (%s and on (%s) top:interference_containers:chosen)'
                        % [q.container, series, q.container],

  // Mean time in a controller's queue, by the exporter's own formula, over any range. Occupancies and
  // inserts are summed before dividing; the clock is one for all controllers of a socket, and stops while the
  // socket sleeps: its ticks over a range are not its frequency.
  local queueLatency(kind) =
    q.ratio(
      q.rate(socket, 'interference_%s_read_queue_occupancy_cycles_total' % kind),
      q.rate(socket, 'interference_%s_read_queue_inserts_total' % kind),
    ) + '\n/\n(max by (%s) (%s) > 0)' % [socket, q.select('interference_imc_frequency_hertz')],

  local measured = 'max_over_time(%s[15m])' % q.select('interference_memory_probe_latency_seconds'),

  // For whoever has such modules: see config.libsonnet.
  local persistentMemory = {
    name: 'interference-persistent-memory.rules',
    interval: config.interval,
    rules: [
      rule('container:interference_nvmm_accesses:rate5m',
           q.rate(q.container + ', access', 'interference_container_nvmm_accesses_total')),
      rule('container:interference_nvmm_bytes:rate5m',
           q.rate(q.container + ', access', 'interference_container_nvmm_bytes_total')),
      rule('node:interference_nvmm_writer_threads:sum',
           'sum by (%s) (%s)' % [q.node, q.select('interference_container_nvmm_writer_threads')]),
      rule('socket:interference_pmm_read_latency_seconds:mean5m', queueLatency('pmm')),
    ],
  },

  prometheusRules+:: {
    groups+: [
      // Containers are the many series: groups run side by side. What a group reads of another it sees as that one
      // recorded it last, an interval ago at most; README.md says which do.
      {
        name: 'interference-cpus.rules',
        interval: config.interval,
        rules: [
          rule('container:interference_cycles_per_instruction:ratio5m',
               q.ratio(
                 q.rate(q.container, 'interference_container_cpu_cycles_total'),
                 q.rate(q.container, 'interference_container_cpu_instructions_total')
               )),
          rule('container:interference_cpus:rate5m',
               q.ratio(
                 q.rate(q.container, 'interference_container_cpu_reference_cycles_total'),
                 'max by (%s) (%s)' % [q.node, q.select('interference_cpu_base_frequency_hertz')],
                 'on (%s) group_left ()' % q.node
               )),
          // What the work would have taken alone: cycles that have no estimate count in full. Over any range,
          // add up; never divide time by a mean slowdown.
          rule('container:interference_billable_cpus:rate5m', |||
            container:interference_cpus:rate5m
            * on (%(container)s)
            (1 - clamp_max(
              %(lost)s,
              1
            ))
            or
            container:interference_cpus:rate5m
          ||| % {
            container: q.container,
            lost: q.ratio(
              q.rate(q.container, 'interference_container_interference_cycles_total', matchers='model="%s"' % config.slowdownModel),
              q.rate(q.container, 'interference_container_cpu_cycles_total')
            ),
          }),
          // What a namespace's containers use, and what of it they would not need alone.
          rule('namespace:interference_cpus:rate5m',
               'sum by (%s, namespace) (container:interference_cpus:rate5m)' % config.clusterLabel),
          rule('namespace:interference_billable_cpus:rate5m',
               'sum by (%s, namespace) (container:interference_billable_cpus:rate5m)' % config.clusterLabel),
        ],
      },
      {
        name: 'interference-slowdown.rules',
        interval: config.interval,
        rules: [
          rule('container:interference_lost_cycles:ratio5m',
               q.ratio(
                 q.rate(q.container + ', model, resource',
                        'interference_container_interference_cycles_total'),
                 q.rate(q.container + ', model',
                        'interference_container_slowdown_observed_cycles_total'),
                 'on (%s, model) group_left ()' % q.container
               )),
          // From the counters; a model that counts no lost cycles (asm) by what scrapes saw of its gauge.
          rule('container:interference_slowdown:ratio5m',
               '1 / ((1 - sum by (%s, model) (container:interference_lost_cycles:ratio5m)) > 0)\nor\n'
               % q.container +
               'max by (%s, model) (avg_over_time(%s[5m]))\nunless on (%s, model)\n%s'
               % [
                 q.container,
                 q.select('interference_container_slowdown_ratio'),
                 q.node,
                 q.rate(q.node + ', model', 'interference_container_interference_cycles_total'),
               ]),
          rule('container:interference_slowdown_observed:ratio5m',
               q.ratio(
                 q.rate(q.container + ', model',
                        'interference_container_slowdown_observed_cycles_total'),
                 q.rate(q.container, 'interference_container_cpu_cycles_total'),
                 'on (%s) group_left ()' % q.container
               )),
          rule('container:interference_slowdown_over_bound:ratio5m', |||
            (
              container:interference_slowdown:ratio5m{model="%(model)s"}
              > on (%(workload)s) group_left ()
              max by (%(workload)s) (interference:slowdown:bound)
              or
              (
                container:interference_slowdown:ratio5m{model="%(model)s"}
                unless on (%(workload)s)
                interference:slowdown:bound
              ) > %(bound)g
            )
            and
            container:interference_slowdown_observed:ratio5m{model="%(model)s"} > %(observed)g
            unless on (%(container)s)
            max_over_time(container:interference_cpus:rate5m[15m]) <= %(cpus)g
          ||| % {
            model: config.slowdownModel,
            workload: q.workload,
            bound: config.slowdownBound,
            observed: config.minimumObserved,
            container: q.container,
            cpus: config.materialCpus,
          }),
          rule('workload:interference_slow_containers:count',
               'count by (%s) (container:interference_slowdown_over_bound:ratio5m)' % q.workload),
          rule('namespace:interference_lost_cpus:rate5m', |||
            sum by (%(cluster)s, namespace) (
              sum by (%(container)s) (container:interference_lost_cycles:ratio5m{model="%(model)s"})
              * on (%(container)s)
              container:interference_cpus:rate5m
            )
          ||| % { cluster: config.clusterLabel, container: q.container, model: config.slowdownModel }),
        ],
      },
      {
        name: 'interference-latency.rules',
        interval: config.interval,
        rules: [
          rule('container:interference_memory_reads:rate5m',
               q.rate(q.container, 'interference_container_memory_reads_total')),
          rule('container:interference_memory_read_latency_seconds:mean5m',
               q.ratio(
                 q.rate(q.container, 'interference_container_memory_read_wait_seconds_total'),
                 q.rate(q.container, 'interference_container_memory_read_latency_reads_total')
               )),
          rule('container:interference_memory_read_latency_observed:ratio15m',
               q.rate(q.container,
                      'interference_container_memory_read_latency_observed_seconds_total',
                      '15m')),
          rule('container:interference_memory_read_latency_over_threshold:ratio15m',
               q.ratio(
                 q.rate(q.container,
                        'interference_container_memory_read_latency_over_threshold_seconds_total',
                        '15m'),
                 'container:interference_memory_read_latency_observed:ratio15m'
               )),
          // Where a CPU counts stalled cycles, and no latency.
          rule('container:interference_memory_stall_per_read_observed:ratio15m',
               q.rate(q.container,
                      'interference_container_memory_stall_per_read_observed_seconds_total',
                      '15m')),
          rule('container:interference_memory_stall_per_read_over_threshold:ratio15m',
               q.ratio(
                 q.rate(q.container,
                        'interference_container_memory_stall_per_read_over_threshold_seconds_total',
                        '15m'),
                 'container:interference_memory_stall_per_read_observed:ratio15m'
               )),
          // Those that wait, or are slowed down, and nobody else: few series, however many containers there are.
          rule('container:interference_memory_waiting:ratio15m', |||
            (
              container:interference_memory_read_latency_over_threshold:ratio15m > %(share)g
              and
              container:interference_memory_read_latency_observed:ratio15m > %(observed)g
              or
              container:interference_memory_stall_per_read_over_threshold:ratio15m > %(share)g
              and
              container:interference_memory_stall_per_read_observed:ratio15m > %(observed)g
            )
            and
            container:interference_memory_reads:rate5m > %(reads)g
            unless on (%(container)s)
            max_over_time(container:interference_lost_cycles:ratio5m{model="%(model)s", resource="memory"}[15m]) <= %(loss)g
            unless on (%(container)s)
            max_over_time(container:interference_cpus:rate5m[15m]) <= %(cpus)g
          ||| % {
            share: config.latencyShare,
            observed: config.minimumObserved,
            reads: config.minimumReads,
            container: q.container,
            model: config.slowdownModel,
            loss: config.materialLoss,
            cpus: config.materialCpus,
          }),
        ],
      },
      {
        name: 'interference-causes.rules',
        interval: config.interval,
        rules: [
          // Whether it still goes on.
          rule('container:interference_caused_latency_seconds:mean2m', caused('2m')),
          rule('container:interference_caused_latency_seconds:mean5m', caused('5m')),
          rule('container:interference_caused_latency_seconds:mean10m', caused('10m')),
        ],
      },
      {
        name: 'interference-placement.rules',
        interval: config.interval,
        rules: [
          // Only where the collector placement runs. Target: all of its memory there.
          rule('container:interference_placement_slowdown:ratio5m',
               q.ratio(
                 q.rate(q.container + ', target', 'interference_container_placement_predicted_seconds_total'),
                 placed,
                 'on (%s) group_left ()' % q.container
               )),
          // Share of its CPU time that it would lose per 100 ns more.
          rule('container:interference_memory_sensitivity:ratio5m',
               '1e-7 *\n' + q.ratio(q.rate(q.container, 'interference_container_memory_serial_reads_total'), placed)),
          // Its reads for each one that it waits for: above the parallelism (MLP) of formulas/placement.h by at least
          // (MLP - 1) times what the look through the caches is of what comes after it. From what the lean profile
          // keeps; both per CPU second, as some windows have no prediction.
          rule('container:interference_memory_parallelism:ratio5m', |||
            clamp_min(
              1e-7 *
              container:interference_memory_reads:rate5m
              / (container:interference_cpus:rate5m > 0)
              / (container:interference_memory_sensitivity:ratio5m > 0),
              1
            )
          |||),
        ],
      },
      {
        name: 'interference-nodes.rules',
        interval: config.interval,
        rules: [
          rule('node:interference_memory_reads:rate5m',
               q.rate(q.node, 'interference_node_memory_reads_total')),
          rule('node:interference_memory_read_latency_seconds:mean5m',
               q.ratio(
                 q.rate(q.node, 'interference_node_memory_read_wait_seconds_total'),
                 q.rate(q.node, 'interference_node_memory_read_latency_reads_total')
               )),
          rule('node:interference_memory_read_latency_over_threshold:max_ratio15m',
               'max by (%s) (container:interference_memory_read_latency_over_threshold:ratio15m)'
               % q.node),
          // How many fulfil InterferenceMemoryLatencyHigh; absent where no container has a threshold.
          rule('node:interference_containers_waiting:count15m', |||
            count by (%(node)s) (container:interference_memory_waiting:ratio15m)
            or
            0 * count by (%(node)s) (
              container:interference_memory_read_latency_over_threshold:ratio15m
              or
              container:interference_memory_stall_per_read_over_threshold:ratio15m
            )
          ||| % { node: q.node }),
          rule('node:interference_containers_monitored:sum',
               'sum by (%s) (%s)'
               % [q.node, q.select('interference_exporter_containers', 'state="monitored"')]),
          rule('cluster:interference_memory_read_window_latency_seconds_bucket:rate5m',
               q.rate(config.clusterLabel + ', le',
                      'interference_node_memory_read_window_latency_seconds_bucket')),
          // The same where Prometheus stores native histograms: then the one above has no series.
          rule('cluster:interference_memory_read_window_latency_seconds:rate5m',
               q.rate(config.clusterLabel, 'interference_node_memory_read_window_latency_seconds')),
          rule('node:interference_slowdown:max_ratio5m',
               'max by (%s, model) (container:interference_slowdown:ratio5m)' % q.node),
          // The column access time where it is known; without it, the queue alone is a lower bound.
          rule('socket:interference_imc_read_latency_seconds:mean5m',
               '%s\n+\n(\navg by (%s) (%s)\nor\n0 *\n%s\n)' % [
                 queueLatency('imc'),
                 socket,
                 q.select('interference_imc_cas_latency_seconds'),
                 queueLatency('imc'),
               ]),
          // The only NUMA node of a machine: whoever waits there waits for its memory. Long enough for gaps.
          rule('numa:interference_memory_of_whole_node:info', |||
            group by (%s) (label_replace(%s, "numa_node", "$1", "target_numa_node", "(.*)"))
            and on (%s)
            count by (%s) (group by (%s, target_numa_node) (%s)) == 1
          ||| % [q.memory, measured, q.node, q.node, q.node, measured]),
          rule('socket:interference_l3_miss_read_latency_seconds:mean5m',
               q.ratio(
                 q.rate(socket + ', source', 'interference_l3_miss_read_wait_seconds_total'),
                 q.rate(socket + ', source', 'interference_l3_miss_read_latency_reads_total')
               )),
          rule('numa:interference_memory_probe_latency_seconds:mean5m',
               q.probe(numa)),
          // A node's own memory is its nearest. Without what named containers add: who stays for an hour would else be
          // part of what is calm.
          rule('numa:interference_memory_latency_without_named_seconds:mean5m', |||
            min by (%(memory)s) (%(near)s)
            -
            (
              sum by (%(memory)s) (container:interference_caused_latency_seconds:mean5m)
              or
              0 * min by (%(memory)s) (%(near)s)
            )
          ||| % {
            memory: q.memory,
            near: 'label_replace(numa:interference_memory_probe_latency_seconds:mean5m, "numa_node", "$1", "target_numa_node", "(.*)")',
          }),
          rule('numa:interference_memory_latency_seconds:calm1h',
               'quantile_over_time(0.1, numa:interference_memory_latency_without_named_seconds:mean5m[1h])'),
          // Also right after a restart of the exporter, which may have to learn anew what is calm.
          rule('numa:interference_memory_latency_over_calm_seconds:mean5m', |||
            min by (%s) (
              label_replace(
                numa:interference_memory_probe_latency_seconds:mean5m,
                "numa_node", "$1", "target_numa_node", "(.*)"
              )
            )
            -
            numa:interference_memory_latency_seconds:calm1h
          ||| % q.memory),
          // Share of its CPUs that is in use; absent where it is not known.
          rule('numa:interference_memory_activity:ratio5m',
               'max by (%s) (avg_over_time(%s[5m]))'
               % [q.memory, q.select('interference_memory_attribution_activity_ratio')]),
          rule('numa:interference_memory_excess_latency_seconds:mean5m',
               ofReadings(q.memory + ', by', 'interference_memory_excess_latency_seconds_total', '5m')),
          // By whose pods they are: few series, of those that are named. An exporter from before that label has none.
          rule('numa:interference_workload_caused_latency_seconds:mean10m', |||
            sum by (%(memory)s, namespace, workload) (
              (container:interference_caused_latency_seconds:mean10m > 0)
              * on (%(container)s) group_left (workload)
              group by (%(container)s, workload) (%(info)s)
            )
          ||| % {
            memory: q.memory,
            container: q.container,
            info: q.select('interference_container_info', 'workload!=""'),
          }),
          // For a scheduler, 0 to 1: the share of the time of a read that others cost, or of a container's time, whichever
          // is higher. What a container's own limits or tasks cost is not in it: it would be so anywhere. Absent only
          // where no exporter is scraped, for who asks takes an absent node for an error.
          rule('node:interference_score:ratio5m', |||
            max by (%(node)s) (
              label_replace(
                clamp_min(
                  max by (%(node)s) (
                    numa:interference_memory_latency_over_calm_seconds:mean5m
                    / (
                      numa:interference_memory_latency_over_calm_seconds:mean5m
                      + numa:interference_memory_latency_seconds:calm1h
                    )
                  ),
                  0
                ),
                "of", "memory", "", ""
              )
              or
              label_replace(
                clamp_max(
                  max by (%(node)s) (
                    sum by (%(container)s) (container:interference_lost:ratio5m{cause=~"%(others)s"})
                  ),
                  1
                ),
                "of", "containers", "", ""
              )
              or
              label_replace(0 * group by (%(node)s) (%(exporter)s), "of", "nothing", "", "")
            )
          ||| % {
            node: q.node,
            container: q.container,
            others: config.lostToOthers,
            exporter: q.select('interference_exporter_build_info'),
          }),
        ],
      },
      {
        name: 'interference-baselines.rules',
        interval: config.baselineInterval,
        rules: [
          // Each sample stands for one interval of the rule above it.
          rule('workload:interference_slow_minutes:sum1d',
               '%g * sum_over_time(workload:interference_slow_containers:count[1d])'
               % (q.seconds(config.interval) / 60)),
          // An hour's history at least.
          rule('socket:interference_imc_read_latency_seconds:calm1d', |||
            quantile_over_time(0.1, socket:interference_imc_read_latency_seconds:mean5m[1d])
            and
            count_over_time(socket:interference_imc_read_latency_seconds:mean5m[1d]) >= %d
          ||| % (3600 / q.seconds(config.interval))),
          // An hour's history at least, of sources that every node reads.
          rule('socket:interference_l3_miss_read_latency_seconds:calm1d', |||
            quantile_over_time(0.1, socket:interference_l3_miss_read_latency_seconds:mean5m{source=~"near_dram|any"}[1d])
            and
            count_over_time(socket:interference_l3_miss_read_latency_seconds:mean5m{source=~"near_dram|any"}[1d]) >= %d
          ||| % (3600 / q.seconds(config.interval))),
          // An hour's history at least.
          rule('numa:interference_memory_probe_latency_seconds:baseline1d', |||
            quantile_over_time(0.05, numa:interference_memory_probe_latency_seconds:mean5m[1d])
            and
            count_over_time(numa:interference_memory_probe_latency_seconds:mean5m[1d]) >= %d
          ||| % (3600 / q.seconds(config.interval))),
          // On how many nodes a workload was named within the day, and on how many it is now. Its name elsewhere is news
          // for the others: see --collector.attribution.prior.file in collectors/README.md.
          rule('workload:interference_named:nodes', |||
            count by (%(of)s) (
              group by (%(node)s, namespace, workload) (
                max_over_time(numa:interference_workload_caused_latency_seconds:mean10m[1d])
              )
            )
          ||| % { of: ofWorkload, node: q.node }),
          rule('workload:interference_runs:nodes', |||
            count by (%(of)s) (group by (%(node)s, namespace, workload) (%(info)s))
            and
            workload:interference_named:nodes
          ||| % { of: ofWorkload, node: q.node, info: q.select('interference_container_info', 'workload!=""') }),
          // What is normal for a container's reads is so on other nodes with the same CPU: the middle of what the nodes
          // have, where there are three at least.
          rule('workload:interference_memory_read_latency:normal', |||
            quantile by (%(workload)s, microarchitecture) (0.5, %(normals)s)
            and
            count by (%(workload)s, microarchitecture) (%(normals)s) >= 3
          ||| % {
            workload: q.workload,
            normals: |||
              max by (%(node)s, namespace, container, microarchitecture) (
                %(normal)s
                * on (%(node)s) group_left (microarchitecture)
                %(cpu)s
              )
            ||| % {
              node: q.node,
              normal: 'max by (%s, namespace, container) (%s)' % [
                q.node,
                q.select('interference_container_memory_read_latency_baseline_seconds', 'basis!="machine"'),
              ],
              cpu: cpuOfNode,
            },
          }),
        ],
      },
      {
        // What the Fleet dashboard asks for: as many series for 5,000 nodes as for five.
        name: 'interference-fleet.rules',
        interval: config.interval,
        rules: [
          rule('cluster:interference_nodes:count',
               'count by (%s) (max by (%s) (%s))'
               % [config.clusterLabel, q.node, q.select('interference_exporter_build_info')]),
          rule('cluster:interference_containers_monitored:sum',
               'sum by (%s) (node:interference_containers_monitored:sum)' % config.clusterLabel),
          rule('cluster:interference_containers_waiting:sum',
               'sum by (%s) (node:interference_containers_waiting:count15m)' % config.clusterLabel),
          rule('cluster:interference_containers_without_baseline:sum',
               'sum by (%s, reason) (%s)'
               % [config.clusterLabel, q.select('interference_exporter_containers_without_baseline')]),
          rule('cluster:interference_collectors:count',
               'count by (%s, collector, reason) (max by (%s, collector, reason) (%s == 1))'
               % [config.clusterLabel, q.node, q.select('interference_exporter_collector_info')]),
          rule('node:interference_memory_probe_over_baseline:max_ratio', |||
            max by (%s) (
              numa:interference_memory_probe_latency_seconds:mean5m
              / numa:interference_memory_probe_latency_seconds:baseline1d
            )
          ||| % q.node),
          rule('cluster:interference_exporters_down:count',
               'count by (%s) (up{%s} == 0)' % [config.clusterLabel, config.jobSelector]),
          // The thirty nodes of a cluster that are highest at the moment: over a range, far fewer series than all.
          topNodes('slowdown:max_ratio5m', '{model="%s"} > 1' % config.slowdownModel),
          topNodes('containers_waiting:count15m', ' > 0'),
          topNodes('memory_read_latency_over_threshold:max_ratio15m', ' > 0'),
          topNodes('memory_read_latency_seconds:mean5m'),
          topNodes('memory_reads:rate5m', ' > 0'),
          topNodes('memory_probe_over_baseline:max_ratio'),
          topNodes('score:ratio5m', ' > 0'),
          // The twenty containers of a cluster that are slowed down most, and the twenty that wait most.
          rule('top:interference_containers:chosen', |||
            sum by (%(container)s) (topk by (%(cluster)s) (20, container:interference_slowdown:ratio5m{model="%(model)s"} > 1))
            or
            topk by (%(cluster)s) (20, container:interference_memory_read_latency_over_threshold:ratio15m > 0)
          ||| % { cluster: config.clusterLabel, container: q.container, model: config.slowdownModel }),
          rule('top:interference_container_slowdown:ratio5m',
               ofTop('container:interference_slowdown:ratio5m{model="%s"}' % config.slowdownModel)),
          rule('top:interference_container_memory_read_latency_over_threshold:ratio15m',
               ofTop('container:interference_memory_read_latency_over_threshold:ratio15m')),
          rule('top:interference_container_memory_read_latency_seconds:mean5m',
               ofTop('container:interference_memory_read_latency_seconds:mean5m')),
          rule('top:interference_container_memory_reads:rate5m',
               ofTop('container:interference_memory_reads:rate5m')),
          rule('top:interference_container_caused_latency_seconds:mean10m',
               'topk by (%s) (20, container:interference_caused_latency_seconds:mean10m > 0)' % config.clusterLabel),
          // The twenty workloads that make memory slowest somewhere, and on how many nodes they are named.
          rule('top:interference_workload_caused_latency_seconds:max10m',
               'topk by (%s) (20, max by (%s, namespace, workload) (numa:interference_workload_caused_latency_seconds:mean10m))'
               % [config.clusterLabel, config.clusterLabel]),
          rule('top:interference_workload_nodes_slowed:count10m', |||
            count by (%(cluster)s, namespace, workload) (
              group by (%(node)s, namespace, workload) (numa:interference_workload_caused_latency_seconds:mean10m)
            )
            and
            top:interference_workload_caused_latency_seconds:max10m
          ||| % { cluster: config.clusterLabel, node: q.node }),
          // The twenty containers whose reads take longest against what is normal for them on other such nodes.
          rule('top:interference_container_latency_over_workload:ratio5m', |||
            topk by (%(cluster)s) (
              20,
              (
                container:interference_memory_read_latency_seconds:mean5m
                * on (%(node)s) group_left (microarchitecture)
                %(cpu)s
              )
              / on (%(workload)s, microarchitecture) group_left ()
              workload:interference_memory_read_latency:normal
            )
          ||| % {
            cluster: config.clusterLabel,
            node: q.node,
            workload: q.workload,
            cpu: cpuOfNode,
          }),
        ],
      },
    ] + (if config.persistentMemory then [persistentMemory] else []),
  },
}
