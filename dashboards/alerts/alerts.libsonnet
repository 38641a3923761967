// Alerts. Each has a runbook of its name and tests in ../tests; every join carries the cluster.
local alerting = import '../lib/alerting.libsonnet';
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local a = alerting(config),
  local alert = a.alert,
  local about = a.about,
  local fiveOf = a.fiveOf,
  local node = a.node,
  local container = a.container,
  local ofCluster = a.ofCluster,
  local ofMachine = a.ofMachine,
  local aboutContainer = about('memory', g.uid.container, ofMachine + [[l, l] for l in ['namespace', 'pod', 'container']]),
  local aboutMemory = about('memory', g.uid.node, ofMachine),
  local aboutExporter = about('exporter', g.uid.node, ofMachine),
  local aboutExporters = about('exporter', g.uid.fleet, ofCluster),
  local aboutCluster = about('memory', g.uid.fleet, ofCluster),
  local ofNode = a.ofNode,
  local suspects =
    '{{ with %s }}Makes memory slow there:{{ range $i, $c := . }}{{ if $i }},{{ end }} {{ $c.Labels.namespace }}/{{ $c.Labels.pod }}/{{ $c.Labels.container }} by {{ $c.Value | humanize }}s{{ end }}.' % ofNode(
      'sort_desc(topk(3, max by (namespace, pod, container) (container:interference_caused_latency_seconds:mean5m{HERE}) > 0))'
    )
    + '{{ else }}No container is named; what a read of memory takes there above calm, by cause:{{ with %s }}{{ range $i, $part := . }}{{ if $i }},{{ end }} {{ $part.Labels.by }} {{ $part.Value | humanize }}s{{ end }}.' % ofNode(
      'sort_desc(max by (by) (numa:interference_memory_excess_latency_seconds:mean5m{HERE, by!="named"}))'
    )
    + '{{ else }} not known.{{ end }}{{ end }}',
  local recorded = a.recorded,
  // A name that a user has made up must not become a command of whoever copies the line: only what Kubernetes
  // allows, DNS labels with dots between them.
  local kubernetesNames = 'and %s' % std.join(' ', [
    '(match "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$" $labels.%s)' % label
    for label in [config.nodeLabel, 'namespace', 'pod']
  ]),
  local found = a.found,
  // Which NUMA node's memory it is about, where the machine has only one: there, and nowhere else, Alertmanager can tell
  // that two alerts are about the same memory.
  local placed = {
    labels+: found(
      'numa_node',
      [config.clusterLabel, config.nodeLabel],
      'numa:interference_memory_of_whole_node:info{%s=%%q, %s=%%q}' % [config.clusterLabel, config.nodeLabel],
      'unknown'
    ),
  },
  local owned = a.owned,
  // Where this node's counts come from a recording, times are the recording's.
  local replay = q.select('interference_exporter_source_info', 'source="replay"'),
  // Two that the scraper labels alike are one series of each name, which goes back and forth between them: one starts
  // before the last one did.
  local twice(matchers) = std.join('\n', [
    'count by (%(node)s) (group by (%(target)s) (%(source)s)) > 1',
    'or',
    'group by (%(node)s) (resets(%(started)s[5m]) > 1)',
  ]) % {
    local of(own) = std.join(', ', std.filter(function(m) m != '', [own, matchers])),
    node: q.node,
    target: q.exporter + ', job',
    source: q.select('interference_exporter_source_info', of('source!="replay"')),
    started: q.select('process_start_time_seconds', of(config.jobSelector)),
  },
  local remedies = 'reason=~"no_permission|fd_limit|nmi_watchdog|not_calibrated"',
  local impaired(severity, matchers, why) = alert(
    'InterferenceCollectorImpaired',
    '5m',
    severity,
    local info = q.select('interference_exporter_collector_info', matchers);
    // Of each node: a quarter of an hour ago, too, so that what a start passes through does not count.
    'count by (%s, collector, reason) (\n  max by (%s, collector, reason) (%s == 1)\n  and\n  max by (%s, collector, reason) (%s offset 15m == 1)\n)'
    % [config.clusterLabel, q.exporter, info, q.exporter, info],
    'Collector {{ $labels.collector }} cannot count everything on {{ $value }} of the nodes ({{ $labels.reason }}).',
    fiveOf(
      'On {{ $value }} of the nodes, collector {{ $labels.collector }} cannot do all its work: {{ $labels.reason }}. %s Some of them:' % why,
      '{{ $one.Labels.instance }}',
      [config.clusterLabel, 'collector', 'reason'],
      'max by (instance) (%s == 1)' % q.select(
        'interference_exporter_collector_info',
        '%s=%%q, collector=%%q, reason=%%q' % config.clusterLabel
      )
    )
  ) + aboutExporters,
  // For whoever wants it: see config.libsonnet. Tiers that are only planned would be an alert for ever.
  local misplaced = alert(
    'InterferenceMemoryMisplaced',
    '30m',
    'warning',
    |||
      min by (%(container)s) (
        container:interference_placement_slowdown:ratio5m{target=~"%(targets)s"}
      ) < %(gain)g
      unless on (%(container)s)
      max_over_time(container:interference_cpus:rate5m[15m]) <= %(cpus)g
    ||| % {
      container: q.container,
      targets: config.placementTiers,
      gain: config.placementGain,
      cpus: config.materialCpus,
    },
    'Container %s would run faster with its memory elsewhere.' % container,
    'On node %s, the work of %s would take {{ $value | humanizePercentage }} of its CPU time with all of its memory elsewhere, as predicted from its reads for 30 minutes. By target:{{ with (printf %s $labels.%s $labels.%s $labels.namespace $labels.pod $labels.container | query) }}{{ range $i, $c := . }}{{ if $i }},{{ end }} {{ $c.Labels.target }} {{ $c.Value | humanizePercentage }}{{ end }}{{ else }} not known any more{{ end }}.' % [
      node,
      container,
      std.escapeStringJson('sort(max by (target) (container:interference_placement_slowdown:ratio5m{%s=%%q, %s=%%q, namespace=%%q, pod=%%q, container=%%q}))' % [config.clusterLabel, config.nodeLabel]),
      config.clusterLabel,
      config.nodeLabel,
    ]
  ) + aboutContainer,
  // Collectors whose counters run all the time on a node that nobody else counts on.
  local alone = 'collector=~"core_latency|slowdown|probe"',

  // For whoever has such modules: see config.libsonnet.
  local persistentMemory = {
    name: 'interference-persistent-memory',
    interval: config.interval,
    rules: [
      alert(
        'InterferenceNvmmWriterThreadsHigh',
        '15m',
        'info',
        |||
          avg_over_time(node:interference_nvmm_writer_threads:sum[10m])
          / on (%(node)s)
          (max by (%(node)s) (%(dimms)s) > 0)
          > %(limit)g
        ||| % {
          node: q.node,
          dimms: q.select('interference_pmem_dimms'),
          limit: config.nvmmWritersPerDimm,
        },
        'Too many threads write to the persistent memory of %s.' % node,
        '{{ $value | humanize }} threads per DIMM write to the persistent memory of %s. Its write bandwidth peaks at one to four threads per DIMM and falls beyond that.' % node
      ) + about('memory', g.uid.persistentMemory, ofMachine),
      owned(alert(
        'InterferenceNvmmSmallStores',
        '15m',
        'info',
        |||
          container:interference_nvmm_bytes:rate5m{access="store"}
          / (container:interference_nvmm_accesses:rate5m{access="store"} > 0)
          < %(bytes)g
          and
          container:interference_nvmm_bytes:rate5m{access="store"} > %(rate)g
          unless on (%(node)s)
          %(undecoded)s
          > 0.1 *
          %(samples)s
        ||| % {
          bytes: config.nvmmStoreBytes,
          rate: config.nvmmStoreBytesPerSecond,
          node: q.node,
          // Stores of unknown size add no bytes: the mean is no mean then.
          undecoded: q.rate(q.node, 'interference_sampler_samples_undecoded_total', '5m', 'access="store"'),
          samples: q.rate(q.node, 'interference_container_memory_samples_total', '5m', 'access="store", medium="nvmm"'),
        },
        'Container %s makes small stores to persistent memory.' % container,
        'On node %s, stores of %s to persistent memory have {{ $value | humanize }} bytes on average. The media writes %d bytes at a time: unless stores are consecutive, each one costs a read and a write of the media.' % [node, container, config.nvmmGranuleBytes]
      ) + about('memory', g.uid.persistentMemory, ofMachine)),
      alert(
        'InterferenceSamplesLost',
        '15m',
        'warning',
        '%s\n> %g' % [
          q.ratio(
            q.rate(q.exporter + ', access', 'interference_sampler_samples_lost_total'),
            '(%s\n+\n%s)' % [
              q.rate(q.exporter + ', access', 'interference_sampler_samples_lost_total'),
              q.rate(q.exporter + ', access', 'interference_container_memory_samples_total'),
            ],
          ),
          config.samplesLostShare,
        ],
        'The exporter on {{ $labels.instance }} loses samples of memory accesses.',
        '{{ $value | humanizePercentage }} of the {{ $labels.access }} samples on {{ $labels.instance }} are lost before the exporter reads them. It estimates the use of persistent memory from the rest; the estimate is wrong if the losses depend on the medium.'
      ) + about('exporter', g.uid.persistentMemory, ofMachine),
    ],
  },

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'interference-containers',
        interval: config.interval,
        rules: std.map(owned, [
          alert(
            'InterferenceMemoryLatencyHigh',
            '5m',
            'warning',
            // All its conditions are in that rule, which the dashboards need, too.
            'container:interference_memory_waiting:ratio15m > %g' % config.latencyShare,
            'Memory reads of container %s take longer than its threshold.' % container,
            'On node %s, memory reads of %s took longer than its threshold for {{ $value | humanizePercentage }} of the observed time in the last 15 minutes. Possible causes are traffic of its neighbours, its own traffic, or memory that has moved. %s%s%s' % [node, container, suspects, a.timeWent, recorded]
          ) + placed + a.caused + aboutContainer,
          // A latency is known, but nothing to compare it with. As old as a day: a younger one may still learn.
          alert(
            'InterferenceThresholdMissing',
            '60m',
            'info',
            |||
              count by (%(cluster)s, namespace) (
                avg_over_time(container:interference_memory_reads:rate5m[1h]) > %(reads)g
                and
                avg_over_time(container:interference_memory_read_latency_observed:ratio15m[1h]) > %(observed)g
                and
                container:interference_memory_reads:rate5m offset 1d
                unless on (%(container)s)
                %(threshold)s
              )
            ||| % {
              cluster: config.clusterLabel,
              reads: config.minimumReads,
              observed: config.minimumObserved,
              container: q.container,
              threshold: q.select('interference_container_memory_read_latency_threshold_seconds'),
            },
            'Busy containers of namespace {{ $labels.namespace }} have no threshold: {{ $value }} of them.',
            fiveOf(
              'In namespace {{ $labels.namespace }}, {{ $value }} of the containers that are at least 1 day old make more than %d memory reads per second, and have had no threshold for their latency for 1 hour. InterferenceMemoryLatencyHigh cannot fire for them. Those that read most:' % config.minimumReads,
              '{{ $one.Labels.pod }}/{{ $one.Labels.container }}',
              [config.clusterLabel, 'namespace', config.clusterLabel, 'namespace', config.clusterLabel, 'namespace'],
              'container:interference_memory_reads:rate5m{%s=%%q, namespace=%%q} > %d and container:interference_memory_read_latency_observed:ratio15m{%s=%%q, namespace=%%q} > %g unless on (%s) %s' % [
                config.clusterLabel,
                config.minimumReads,
                config.clusterLabel,
                config.minimumObserved,
                q.container,
                q.select(
                  'interference_container_memory_read_latency_threshold_seconds',
                  '%s=%%q, namespace=%%q' % config.clusterLabel
                ),
              ],
              by=''
            )
          ) + about('memory', g.uid.fleet, ofCluster),
          alert(
            'InterferenceContainerSlowdown',
            '15m',
            config.slowdownSeverity,
            'container:interference_slowdown_over_bound:ratio5m > 1',
            'The work of container %s takes longer than it would take alone.' % container,
            'On node %s, the work of %s takes {{ $value | humanize }} times as long as it would take alone, as estimated by model {{ $labels.model }}. %s%s%s' % [node, container, suspects, a.timeWent, recorded]
          ) + a.caused + aboutContainer,
          // Jobs that are over before the one above has waited, but come again.
          alert(
            'InterferenceSlowMinutes',
            '5m',
            'warning',
            'workload:interference_slow_minutes:sum1d > %g' % config.slowMinutesPerDay,
            'Containers {{ $labels.namespace }}/{{ $labels.container }} are often slowed down.',
            'In the last 24 hours, containers {{ $labels.namespace }}/{{ $labels.container }} spent {{ $value | humanize }} minutes, added up over their pods, in which their work took more than %g times as long as it would take alone (or more than the bound of their own), as estimated by model %s.' % [config.slowdownBound, config.slowdownModel]
          ) + aboutCluster,
        ] + (if config.placementAlert then [misplaced] else [])),
      },
      {
        name: 'interference-nodes',
        interval: config.interval,
        rules: [
          // One for a node, however many wait there. It looks back, so that it comes before theirs and outlives
          // the moments in which one of them does not wait.
          alert(
            'InterferenceManyContainersWait',
            '2m',
            'warning',
            'max_over_time(node:interference_containers_waiting:count15m[5m]) >= %d' % config.manyContainers,
            '{{ $value }} containers of %s wait for memory.' % node,
            fiveOf(
              'On node %s, the memory reads of {{ $value }} containers took longer than their thresholds for more than %d %% of the observed time in the last 15 minutes. %s Those that wait longest:' % [node, config.latencyShare * 100, suspects],
              '{{ $one.Labels.namespace }}/{{ $one.Labels.pod }}/{{ $one.Labels.container }} {{ $one.Value | humanizePercentage }}',
              [config.clusterLabel, config.nodeLabel],
              'container:interference_memory_waiting:ratio15m{%s=%%q, %s=%%q}' % [config.clusterLabel, config.nodeLabel],
              by=''
            ) + recorded
          ) + aboutMemory,
          alert(
            'InterferenceQueueLatencyHigh',
            '15m',
            'warning',
            |||
              socket:interference_imc_read_latency_seconds:mean5m > %(limit)g
              and on (%(node)s)
              %(known)s
              or
              (
                socket:interference_imc_read_latency_seconds:mean5m
                > %(imcFactor)g * socket:interference_imc_read_latency_seconds:calm1d
              )
              unless on (%(node)s)
              %(known)s
              or
              max by (%(node)s, socket) (
                socket:interference_l3_miss_read_latency_seconds:mean5m{source=~"near_dram|any"}
                > %(factor)g * socket:interference_l3_miss_read_latency_seconds:calm1d
              )
            ||| % {
              limit: config.imcLatencySeconds,
              // Also while the exporter starts again.
              known: 'max_over_time(%s[15m])' % q.select('interference_exporter_source_info', 'microarchitecture=~"%s"' % config.imcLatencyKnown),
              imcFactor: config.imcLatencyFactor,
              node: q.node,
              factor: config.l3LatencyFactor,
            },
            'The memory of socket {{ $labels.socket }} of %s has long queues.' % node,
            "On socket {{ $labels.socket }} of %s, a read of DRAM takes at least {{ $value | humanize }}s, for every program there: on Intel's CPUs inside the memory controllers, of which idle ones take 50 to 60 ns with DDR4, and on newer CPUs at least %g times as long as when that socket is calm; on AMD's from the L3 caches on, %g times as long as then." % [node, config.imcLatencyFactor, config.l3LatencyFactor]
          ) + placed + aboutMemory,
          // Over five minutes, and most of it in the last two, too: a short one is over before anybody has
          // looked. Who adds 15 % and stays must be told within ten minutes of its start, the wait included.
          owned(alert(
            'InterferenceAggressor',
            '4m',
            'warning',
            |||
              (
                container:interference_caused_latency_seconds:mean5m
                > on (%(memory)s) group_left ()
                %(share)g * numa:interference_memory_latency_seconds:calm1h
              )
              and
              (
                container:interference_caused_latency_seconds:mean2m
                > on (%(memory)s) group_left ()
                %(going)g * numa:interference_memory_latency_seconds:calm1h
              )
            ||| % { memory: q.memory, share: config.aggressorShare, going: config.aggressorShare * 3 / 4 },
            'Container %s makes the memory of %s slow for the others.' % [container, node],
            "On %s, %s makes a read of the memory of NUMA node {{ $labels.numa_node }} take {{ $value | humanize }}s longer, on average over 5 minutes: more than %g %% of what it takes when it is calm. It is named because the latency has followed its activity closely enough.{{ if %s }} To move it, unless it is a DaemonSet's (see the runbook): kubectl cordon '%s'; kubectl -n '{{ $labels.namespace }}' delete pod '{{ $labels.pod }}'; and when it runs elsewhere: kubectl uncordon '%s'.{{ end }}%s" % [node, container, config.aggressorShare * 100, kubernetesNames, node, node, recorded]
          ) + aboutContainer),
          // By the exporter's own excess, or by that over the calm of Prometheus' last hour: an exporter that
          // started again without its state takes for calm what it finds. An idle node's is nobody's.
          alert(
            'InterferenceExcessUnattributed',
            '15m',
            'warning',
            |||
              (
                sum by (%(memory)s) (numa:interference_memory_excess_latency_seconds:mean5m{by!="named"})
                > on (%(memory)s)
                %(share)g * numa:interference_memory_latency_seconds:calm1h
                or
                (
                  (
                    numa:interference_memory_latency_over_calm_seconds:mean5m
                    and on (%(memory)s)
                    numa:interference_memory_excess_latency_seconds:mean5m
                  )
                  - on (%(memory)s)
                  (
                    sum by (%(memory)s) (container:interference_caused_latency_seconds:mean5m)
                    or
                    0 * numa:interference_memory_latency_over_calm_seconds:mean5m
                  )
                )
                > on (%(memory)s)
                %(share)g * numa:interference_memory_latency_seconds:calm1h
              )
              unless on (%(memory)s)
              numa:interference_memory_activity:ratio5m < %(idle)g
            ||| % { memory: q.memory, share: config.unattributedShare, idle: config.idleShare },
            'The memory of %s is slow, and no container can be named for it.' % node,
            'On %s, a read of the memory of NUMA node {{ $labels.numa_node }} takes {{ $value | humanize }}s longer than when it is calm, and this is not the doing of one container that could be named:{{ with (printf %s $labels.%s $labels.%s $labels.numa_node | query) }}{{ range $i, $part := . }}{{ if $i }},{{ end }} {{ $part.Labels.by }} {{ $part.Value | humanize }}s{{ end }}.{{ else }} of unknown cause; the exporter may have started again, and learn anew what is calm.{{ end }} unknown: outside of this machine, a container that is always active, or not yet told apart. group: several containers that switch together. host: processes outside of containers.%s' % [
              node,
              std.escapeStringJson('sort_desc(numa:interference_memory_excess_latency_seconds:mean5m{%s=%%q, %s=%%q, numa_node=%%q, by!="named"} > 0)' % [config.clusterLabel, config.nodeLabel]),
              config.clusterLabel,
              config.nodeLabel,
              recorded,
            ]
          ) + aboutMemory,
        ],
      },
    ] + (if config.persistentMemory then [persistentMemory] else []) + [
      {
        name: 'interference-exporter',
        interval: config.interval,
        rules: [
          // Of each exporter: it was there ten minutes ago, and has not answered since. So one that starts again
          // does not count, however many do after each other.
          alert(
            'InterferenceExporterDown',
            '1m',
            'warning',
            |||
              count by (%(cluster)s, job) (
                max by (%(exporter)s, job) (max_over_time(up{%(job)s}[10m])) == 0
                and
                max by (%(exporter)s, job) (up{%(job)s} offset 10m)
              )
            ||| % { cluster: config.clusterLabel, exporter: q.exporter, job: config.jobSelector },
            'Prometheus cannot scrape {{ $value }} of the exporters of job {{ $labels.job }}.',
            fiveOf(
              'Prometheus has not been able to scrape {{ $value }} of the exporters of job {{ $labels.job }} for 10 minutes. Interference on these nodes goes unnoticed. Some of those that it cannot scrape now:',
              '{{ $one.Labels.instance }}',
              [config.clusterLabel, 'job'],
              'max by (instance) (up{%s=%%q, job=%%q} == 0)' % config.clusterLabel
            )
          ) + aboutExporters,
          // up == 0 is there as long as the target is; of a target that is gone nothing is left, not even
          // the cluster's name.
          alert(
            'InterferenceExporterAbsent',
            '15m',
            'warning',
            'absent(up{%s} == 1)' % config.jobSelector
            + (if config.sharded then '\nand\ncount(last_over_time(up{%s}[1d]))' % config.jobSelector else ''),
            'Prometheus scrapes no interference_exporter at all.',
            'For 15 minutes Prometheus has not scraped a single interference_exporter (up with %s). Interference goes unnoticed, and no other alert about it can fire.' % config.jobSelector
          ) + about('exporter', g.uid.fleet, []),
          alert(
            'InterferenceExporterStuck',
            '5m',
            'warning',
            |||
              time() - max by (%(exporter)s) (%(tick)s) > %(stale)g
              unless on (%(exporter)s)
              %(ticks)s > 0
              unless on (%(exporter)s)
              %(replay)s
            ||| % {
              exporter: q.exporter,
              // A node whose clock is behind measures none the less.
              ticks: q.rate(q.exporter, 'interference_exporter_ticks_total', '2m'),
              tick: q.select('interference_exporter_last_tick_timestamp_seconds'),
              stale: config.tickStaleSeconds,
              replay: replay,
            },
            'interference_exporter on {{ $labels.instance }} no longer measures.',
            'The last tick of interference_exporter on {{ $labels.instance }} was {{ $value | humanizeDuration }} ago. It serves old values.'
          ) + aboutExporter,
          alert(
            'InterferenceCollectorFailing',
            '10m',
            'warning',
            |||
              max by (%(exporter)s, collector) (%(success)s) == 0
              and
              max by (%(exporter)s, collector) (%(available)s) == 1
            ||| % {
              exporter: q.exporter,
              success: q.select('interference_exporter_collector_success'),
              available: q.select('interference_exporter_collector_available'),
            },
            'Collector {{ $labels.collector }} fails on {{ $labels.instance }}.',
            'Collector {{ $labels.collector }} of interference_exporter on {{ $labels.instance }} runs, but its collections fail. Its metrics no longer change.'
          ) + aboutExporter,
          // By cluster: a setting is wrong on all nodes of a kind, and one notification says so.
          impaired(
            'warning',
            remedies,
            '{{ if eq $labels.reason "nmi_watchdog" }}The NMI watchdog of the kernel holds a hardware counter that it needs.{{ else if eq $labels.reason "not_calibrated" }}How long a read takes to pass through the caches of this CPU has not been measured. Memory read latencies are missing, or use the constant published for the CPU model.{{ else }}The machines have the counters, but a setting of the machine or of the deployment blocks them.{{ end }}'
          ),
          impaired(
            'info',
            // amd_l3 is on by itself wherever a hypervisor lists its PMU: nothing that somebody asked for.
            'collector!="amd_l3", reason="event_filtered"',
            'The hypervisor lets its events open, but they count nothing. No setting on these machines changes that.'
          ),
          alert(
            'InterferenceCountersStarved',
            '15m',
            'warning',
            |||
              count by (%(cluster)s, collector) (
                %(share)s
                < %(least)g
                unless on (%(exporter)s)
                %(sampler)s == 1
                unless on (%(exporter)s)
                %(traffic)s > 0
              )
            ||| % {
              cluster: config.clusterLabel,
              share: q.ratio(
                q.rate(q.exporter + ', collector', 'interference_exporter_pmu_running_seconds_total', '15m', alone),
                q.rate(q.exporter + ', collector', 'interference_exporter_pmu_enabled_seconds_total', '15m', alone),
              ),
              least: config.pmuRunningShare,
              exporter: q.exporter,
              // They take two of four counters, or four of six: core_latency then takes turns with them.
              sampler: q.select('interference_exporter_collector_available', 'collector=~"pebs_nvmm|fill_sources"'),
              // So do these, which have counters of their own only where they were asked to count traffic, or loads.
              traffic: q.rate(q.exporter, 'interference_exporter_pmu_enabled_seconds_total', '5m', 'collector=~"attribution|placement"'),
            },
            'Collector {{ $labels.collector }} shares its counters with other users on {{ $value }} of the nodes.',
            'On {{ $value }} of the nodes, the counters of collector {{ $labels.collector }} counted for less than %d %% of the time in which they should have. The rest is extrapolated. Dashboard Node, panel "Counters at work", shows one node.' % (config.pmuRunningShare * 100)
          ) + aboutExporters,
          alert(
            'InterferenceCoreLatencyErrorHigh',
            '60m',
            'warning',
            |||
              count by (%(cluster)s, microarchitecture) (
                max by (%(exporter)s, microarchitecture) (%(source)s)
                and on (%(exporter)s)
                avg_over_time(%(wrong)s[30m]) > %(limit)g
              )
            ||| % {
              cluster: config.clusterLabel,
              exporter: q.exporter,
              wrong: q.select('interference_core_latency_error_ratio'),
              limit: config.coreLatencyErrorRatio,
              source: q.select('interference_exporter_source_info'),
            },
            'Memory read latencies are estimated wrongly on {{ $value }} of the nodes ({{ $labels.microarchitecture }}).',
            fiveOf(
              "On {{ $value }} of the nodes of microarchitecture {{ $labels.microarchitecture }}, the estimate of memory read latency for the probe's own thread is off by more than %g %% from the latency that the probe measured. Estimates for containers may be as wrong. Furthest off now:" % (config.coreLatencyErrorRatio * 100),
              '{{ $one.Labels.%s }} {{ $one.Value | humanizePercentage }}' % config.nodeLabel,
              [config.clusterLabel],
              'max by (%s) (%s)' % [config.nodeLabel, q.select('interference_core_latency_error_ratio', '%s=%%q' % config.clusterLabel)],
              by=''
            )
          ) + aboutExporters,
          alert(
            'InterferenceTicksMissed',
            '15m',
            'warning',
            |||
              count by (%(cluster)s) (
                %(missed)s
                > %(share)g * (
                  %(missed)s
                  +
                  %(taken)s
                )
              )
            ||| % {
              cluster: config.clusterLabel,
              missed: q.rate(q.exporter, 'interference_exporter_missed_ticks_total', '15m'),
              taken: q.rate(q.exporter, 'interference_exporter_ticks_total', '15m'),
              share: config.ticksMissedShare,
            },
            '{{ $value }} of the exporters miss ticks.',
            fiveOf(
              '{{ $value }} of the exporters miss more than %g %% of their ticks: they get no CPU, or a tick takes longer than the interval. Their windows are longer than they should be, and what is short goes unnoticed. Those that miss most ticks per second:' % (config.ticksMissedShare * 100),
              '{{ $one.Labels.instance }} {{ $one.Value | humanize }}',
              [config.clusterLabel],
              'max by (instance) (rate(%s[5m]) > 0)' % q.select('interference_exporter_missed_ticks_total', '%s=%%q' % config.clusterLabel),
              by=''
            )
          ) + aboutExporters,
          alert(
            'InterferenceReplayed',
            '60m',
            'warning',
            'count by (%s) (max by (%s) (%s))' % [
              config.clusterLabel,
              q.exporter,
              q.select('interference_exporter_source_info', 'source="replay", %s!~"%s"' % [config.nodeLabel, config.replayNodes]),
            ],
            '{{ $value }} of the exporters replay a recording instead of measuring.',
            fiveOf(
              'The counts of {{ $value }} of the exporters come from a recording (--source=replay). Nothing that they say is about the node whose name they carry:',
              '{{ $one.Labels.instance }}',
              [config.clusterLabel],
              'max by (instance) (%s)' % q.select('interference_exporter_source_info', 'source="replay", %s=%%q' % config.clusterLabel)
            )
          ) + aboutExporters,
          alert(
            'InterferenceExportersTwice',
            '15m',
            'warning',
            'count by (%s) (\n  %s\n)' % [config.clusterLabel, std.strReplace(twice(''), '\n', '\n  ')],
            '{{ $value }} nodes have more than one exporter, or are scraped twice.',
            fiveOf(
              'Of {{ $value }} nodes, more than one exporter is scraped, or one by several jobs. What is added up there over a container, a node or a namespace is so many times what it is: CPUs, reads, traffic, shares of time that were lost. Latencies and slowdowns are as of one, unless the scraper labels both alike: then every rate is wrong. Those nodes:',
              '{{ $one.Labels.%s }}' % config.nodeLabel,
              [config.clusterLabel, config.clusterLabel],
              'group by (%s) (%s)' % [config.nodeLabel, std.strReplace(twice('%s=%%q' % config.clusterLabel), '\n', ' ')],
              config.nodeLabel
            )
          ) + aboutExporters,
          // Without counters there is no baseline: normal on most virtual machines.
          alert(
            'InterferenceBlindSpot',
            '120m',
            'info',
            |||
              cluster:interference_containers_without_baseline:sum{reason!~"idle|not_counted"}
              / on (%(cluster)s) group_left ()
              (cluster:interference_containers_monitored:sum > 0)
              > %(share)g
            ||| % { cluster: config.clusterLabel, share: config.blindShare },
            '{{ $value | humanizePercentage }} of the containers have no baseline ({{ $labels.reason }}).',
            'For {{ $value | humanizePercentage }} of the monitored containers it is not known what their memory latency is when it is normal; the reason is {{ $labels.reason }}. InterferenceMemoryLatencyHigh and InterferenceContainerSlowdown cannot fire for them.'
          ) + aboutExporters,
          alert(
            'InterferenceContainersNotMonitored',
            '15m',
            'warning',
            'max by (%s) (%s) > 0'
            % [q.exporter, q.select('interference_exporter_containers', 'state="over_limit"')],
            'The exporter on {{ $labels.instance }} does not monitor all containers.',
            '{{ $value | humanize }} containers on {{ $labels.instance }} are over the limit --containers.max. The exporter does not count them.'
          ) + aboutExporter,
          alert(
            'InterferenceThresholdsRejected',
            '5m',
            'warning',
            'max by (%s) (%s) == 0'
            % [q.exporter, q.select('interference_exporter_config_last_reload_successful')],
            'interference_exporter on {{ $labels.instance }} rejected its thresholds file.',
            'interference_exporter on {{ $labels.instance }} could not read its thresholds file at the last attempt. The earlier thresholds stay in force.'
          ) + aboutExporter,
        ],
      },
    ],
  },
}
