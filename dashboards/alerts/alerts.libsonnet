// Alerts. Each has a runbook of its name and tests in ../tests; every join carries the cluster.
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local q = promql(config),
  local node = '{{ $labels.%s }}' % config.nodeLabel,
  local container = '{{ $labels.namespace }}/{{ $labels.pod }}/{{ $labels.container }}',
  local alert(name, wait, severity, expr, summary, description) = {
    alert: name,
    expr: std.rstripChars(expr, '\n'),
    'for': wait,
    labels: { severity: severity },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: config.runbookUrlPrefix + name + '.md',
    },
  },
  // For annotations: a query about the alert's own node, and the names of what it finds.
  local ofNode(expr) = '(printf %s $labels.%s $labels.%s | query)' % [
    std.escapeStringJson(std.strReplace(expr, 'HERE', '%s=%%q, %s=%%q' % [config.clusterLabel, config.nodeLabel])),
    config.clusterLabel,
    config.nodeLabel,
  ],
  local suspects =
    '{{ with %s }}Makes memory slow there:{{ range $i, $c := . }}{{ if $i }},{{ end }} {{ $c.Labels.namespace }}/{{ $c.Labels.pod }}/{{ $c.Labels.container }} by {{ $c.Value | humanize }}s{{ end }}.' % ofNode(
      'sort_desc(topk(3, max by (namespace, pod, container) (container:interference_caused_latency_seconds:mean5m{HERE}) > 0))'
    )
    + '{{ else }}No container is named; what a read of memory takes there above calm, by cause:{{ with %s }}{{ range $i, $part := . }}{{ if $i }},{{ end }} {{ $part.Labels.by }} {{ $part.Value | humanize }}s{{ end }}.' % ofNode(
      'sort_desc(max by (by) (numa:interference_memory_excess_latency_seconds:mean5m{HERE, by!="named"}))'
    )
    + '{{ else }} not known.{{ end }}{{ end }}',
  // A name that a user has made up must not become a command of whoever copies the line: only what Kubernetes
  // allows, DNS labels with dots between them.
  local kubernetesNames = 'and %s' % std.join(' ', [
    '(match "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$" $labels.%s)' % label
    for label in [config.nodeLabel, 'namespace', 'pod']
  ]),
  // Where this node's counts come from a recording, times are the recording's.
  local replay = q.select('interference_exporter_source_info', 'source="replay"'),
  local remedies = 'reason=~"no_permission|fd_limit|event_filtered|nmi_watchdog|not_calibrated"',
  // Collectors whose counters run all the time on a node that nobody else counts on.
  local alone = 'collector=~"core_latency|slowdown|probe"',

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'interference-containers',
        interval: config.interval,
        rules: [
          alert(
            'InterferenceMemoryLatencyHigh',
            '5m',
            'warning',
            |||
              container:interference_memory_read_latency_over_threshold:ratio15m > %(share)g
              and
              container:interference_memory_read_latency_observed:ratio15m > %(observed)g
              and
              container:interference_memory_reads:rate5m > %(reads)g
            ||| % { share: config.latencyShare, observed: config.minimumObserved, reads: config.minimumReads },
            'Memory reads of container %s take longer than its threshold.' % container,
            'On node %s, memory reads of %s took longer than its threshold for {{ $value | humanizePercentage }} of the observed time in the last 15 minutes. Possible causes are traffic of its neighbours, its own traffic, or memory that has moved. %s' % [node, container, suspects]
          ),
          // A latency is known, but nothing to compare it with.
          alert(
            'InterferenceThresholdMissing',
            '1440m',
            'warning',
            |||
              avg_over_time(container:interference_memory_reads:rate5m[1h]) > %(reads)g
              and
              avg_over_time(container:interference_memory_read_latency_observed:ratio15m[1h]) > %(observed)g
              unless on (%(container)s)
              %(threshold)s
            ||| % {
              reads: config.minimumReads,
              observed: config.minimumObserved,
              container: q.container,
              threshold: q.select('interference_container_memory_read_latency_threshold_seconds'),
            },
            'Container %s has had no threshold for a day.' % container,
            'On node %s, %s makes {{ $value | humanize }} memory reads per second, and has had no threshold for their latency for a day. InterferenceMemoryLatencyHigh cannot fire for it.' % [node, container]
          ),
          alert(
            'InterferenceContainerSlowdown',
            '15m',
            config.slowdownSeverity,
            |||
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
            ||| % {
              model: config.slowdownModel,
              workload: q.workload,
              bound: config.slowdownBound,
              observed: config.minimumObserved,
            },
            'Container %s is estimated to run slower than it would run alone.' % container,
            'On node %s, the work of %s takes {{ $value | humanize }} times as long as it would take alone, as estimated by model {{ $labels.model }}. %s' % [node, container, suspects]
          ),
        ],
      },
      {
        name: 'interference-nodes',
        interval: config.interval,
        rules: [
          alert(
            'InterferenceQueueLatencyHigh',
            '15m',
            'warning',
            |||
              socket:interference_imc_read_latency_seconds:mean5m > %g
              or
              max by (%s, socket) (
                socket:interference_l3_miss_read_latency_seconds:mean5m{source=~"near_dram|any"}
                > %g * socket:interference_l3_miss_read_latency_seconds:calm1d
              )
            ||| % [config.imcLatencySeconds, q.node, config.l3LatencyFactor],
            'The memory of socket {{ $labels.socket }} of %s has long queues.' % node,
            "On socket {{ $labels.socket }} of %s, a read of DRAM takes at least {{ $value | humanize }}s, for every program there: on Intel's CPUs inside the memory controllers, of which idle ones take 50 to 60 ns; on AMD's from the L3 caches on, %g times as long as when that node is calm." % [node, config.l3LatencyFactor]
          ),
          // Over ten minutes, and still in the last five: a short one is over before anybody has looked.
          alert(
            'InterferenceAggressor',
            '5m',
            'warning',
            |||
              (
                container:interference_caused_latency_seconds:mean10m
                > on (%(memory)s) group_left ()
                %(share)g * numa:interference_memory_latency_seconds:calm1h
              )
              and
              (
                container:interference_caused_latency_seconds:mean5m
                > on (%(memory)s) group_left ()
                %(share)g * numa:interference_memory_latency_seconds:calm1h
              )
            ||| % { memory: q.memory, share: config.aggressorShare },
            'Container %s makes the memory of %s slow for the others.' % [container, node],
            "On %s, %s makes a read of the memory of NUMA node {{ $labels.numa_node }} take {{ $value | humanize }}s longer, on average over 10 minutes: more than %g %% of what it takes when it is calm. It is named because the latency has followed its activity closely enough.{{ if %s }} To move it, unless it is a DaemonSet's (see the runbook): kubectl cordon '%s'; kubectl -n '{{ $labels.namespace }}' delete pod '{{ $labels.pod }}'; and when it runs elsewhere: kubectl uncordon '%s'.{{ end }}" % [node, container, config.aggressorShare * 100, kubernetesNames, node, node]
          ),
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
            'On %s, a read of the memory of NUMA node {{ $labels.numa_node }} takes {{ $value | humanize }}s longer than when it is calm, and this is not the doing of one container that could be named:{{ with (printf %s $labels.%s $labels.%s $labels.numa_node | query) }}{{ range $i, $part := . }}{{ if $i }},{{ end }} {{ $part.Labels.by }} {{ $part.Value | humanize }}s{{ end }}.{{ else }} of unknown cause; the exporter may have started again, and learn anew what is calm.{{ end }} unknown: outside of this machine, a container that is always active, or not yet told apart. group: several containers that switch together. host: processes outside of containers.' % [
              node,
              std.escapeStringJson('sort_desc(numa:interference_memory_excess_latency_seconds:mean5m{%s=%%q, %s=%%q, numa_node=%%q, by!="named"} > 0)' % [config.clusterLabel, config.nodeLabel]),
              config.clusterLabel,
              config.nodeLabel,
            ]
          ),
        ],
      },
      {
        name: 'interference-persistent-memory',
        interval: config.interval,
        rules: [
          alert(
            'InterferenceNvmmWriterThreadsHigh',
            '15m',
            'warning',
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
          ),
          alert(
            'InterferenceNvmmSmallStores',
            '15m',
            'warning',
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
          ),
        ],
      },
      {
        name: 'interference-exporter',
        interval: config.interval,
        rules: [
          alert(
            'InterferenceExporterDown',
            '10m',
            'warning',
            'max by (%s, job) (%s) == 0' % [q.exporter, 'up{%s}' % config.jobSelector],
            'Prometheus cannot scrape interference_exporter on {{ $labels.instance }}.',
            'Prometheus could not scrape interference_exporter on {{ $labels.instance }} (job {{ $labels.job }}) for 10 minutes. Interference there goes unnoticed.'
          ),
          // up == 0 is there as long as the target is; of a target that is gone nothing is left, not even
          // the cluster's name.
          alert(
            'InterferenceExporterAbsent',
            '15m',
            'warning',
            'absent(up{%s} == 1)' % config.jobSelector,
            'Prometheus scrapes no interference_exporter at all.',
            'For 15 minutes Prometheus has not scraped a single interference_exporter (up with %s). Interference goes unnoticed, and no other alert about it can fire.' % config.jobSelector
          ),
          alert(
            'InterferenceExporterStuck',
            '5m',
            'warning',
            |||
              time() - max by (%(exporter)s) (%(tick)s) > %(stale)g
              unless on (%(exporter)s)
              %(replay)s
            ||| % {
              exporter: q.exporter,
              tick: q.select('interference_exporter_last_tick_timestamp_seconds'),
              stale: config.tickStaleSeconds,
              replay: replay,
            },
            'interference_exporter on {{ $labels.instance }} no longer measures.',
            'The last tick of interference_exporter on {{ $labels.instance }} was {{ $value | humanizeDuration }} ago. It serves old values.'
          ),
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
          ),
          alert(
            'InterferenceCollectorImpaired',
            '15m',
            'warning',
            'max by (%s, collector, reason) (%s) == 1\nunless\nmax by (%s, collector, reason) (%s) == 1'
            % [
              q.exporter,
              q.select('interference_exporter_collector_info', remedies),
              q.exporter,
              // On by itself wherever a hypervisor lists its PMU: nothing that somebody asked for.
              q.select('interference_exporter_collector_info', 'collector="amd_l3", reason="event_filtered"'),
            ],
            'Collector {{ $labels.collector }} cannot count everything on {{ $labels.instance }}.',
            'Collector {{ $labels.collector }} on {{ $labels.instance }} cannot do all its work: {{ $labels.reason }}. {{ if eq $labels.reason "event_filtered" }}The hypervisor lets its events open, but they count nothing. No setting on this machine changes that; to end this alert, switch the collector off with --no-collector.{{ $labels.collector }}{{ if eq $labels.collector "core_latency" }}, or silence it for this machine to keep cycles and instructions{{ end }}.{{ else if eq $labels.reason "nmi_watchdog" }}The NMI watchdog of the kernel holds a hardware counter that it needs.{{ else if eq $labels.reason "not_calibrated" }}How long a read takes to pass through the caches of this CPU has not been measured. Memory read latencies are missing, or use the constant published for the CPU model.{{ else }}The machine has the counters, but a setting of the machine or of the deployment blocks them.{{ end }}'
          ),
          alert(
            'InterferenceCountersStarved',
            '15m',
            'warning',
            |||
              %(share)s
              < %(least)g
              unless on (%(exporter)s)
              %(sampler)s == 1
              unless on (%(exporter)s)
              %(traffic)s > 0
            ||| % {
              share: q.ratio(
                q.rate(q.exporter + ', collector', 'interference_exporter_pmu_running_seconds_total', '5m', alone),
                q.rate(q.exporter + ', collector', 'interference_exporter_pmu_enabled_seconds_total', '5m', alone),
              ),
              least: config.pmuRunningShare,
              exporter: q.exporter,
              // They take two of four counters, or four of six: core_latency then takes turns with them.
              sampler: q.select('interference_exporter_collector_available', 'collector=~"pebs_nvmm|fill_sources"'),
              // So does attribution, which has counters of its own only where it was asked to count traffic.
              traffic: q.rate(q.exporter, 'interference_exporter_pmu_enabled_seconds_total', '5m', 'collector="attribution"'),
            },
            'Collector {{ $labels.collector }} on {{ $labels.instance }} shares its counters with other users.',
            'The counters of collector {{ $labels.collector }} on {{ $labels.instance }} counted for only {{ $value | humanizePercentage }} of the time in which they should have. The rest is extrapolated.'
          ),
          alert(
            'InterferenceCoreLatencyErrorHigh',
            '60m',
            'warning',
            'max by (%s, numa_node) (avg_over_time(%s[30m])) > %g'
            % [q.exporter, q.select('interference_core_latency_error_ratio'), config.coreLatencyErrorRatio],
            'Memory read latencies on {{ $labels.instance }} are estimated wrongly.',
            "On {{ $labels.instance }}, the estimate of memory read latency for the probe's own thread has been off by {{ $value | humanizePercentage }} from the latency that the probe measured on NUMA node {{ $labels.numa_node }}. Estimates for containers may be as wrong."
          ),
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
          ),
          alert(
            'InterferenceContainersNotMonitored',
            '15m',
            'warning',
            'max by (%s) (%s) > 0'
            % [q.exporter, q.select('interference_exporter_containers', 'state="over_limit"')],
            'The exporter on {{ $labels.instance }} does not monitor all containers.',
            '{{ $value | humanize }} containers on {{ $labels.instance }} are over the limit --containers.max. The exporter does not count them.'
          ),
          alert(
            'InterferenceThresholdsRejected',
            '5m',
            'warning',
            'max by (%s) (%s) == 0'
            % [q.exporter, q.select('interference_exporter_config_last_reload_successful')],
            'interference_exporter on {{ $labels.instance }} rejected its thresholds file.',
            'interference_exporter on {{ $labels.instance }} could not read its thresholds file at the last attempt. The earlier thresholds stay in force.'
          ),
        ],
      },
    ],
  },
}
