// Persistent memory: who writes it, how much, from how many threads, in which pieces.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local here = g.onContainers,
  local nodes = g.onNodes,
  local name = '{{%s}} {{namespace}}/{{pod}}/{{container}}' % config.nodeLabel,
  local sum(metric, matchers) = g.rate(q.container, 'interference_container_nvmm_%s_total' % metric, matchers),
  local store = here + ', access="store"',
  local load = here + ', access="load"',
  local writers = 'sum by (%s) (%s)' % [q.node, q.select('interference_container_nvmm_writer_threads', nodes)],
  local dimms = 'max by (%s) (%s)' % [q.node, q.select('interference_pmem_dimms', nodes)],
  local perDimm = '%s\n/\n(%s > 0)' % [writers, dimms],
  local size(matchers) = q.ratio(sum('bytes', matchers), sum('accesses', matchers)),
  local socket = q.node + ', socket',
  local queue = q.ratio(
    g.rate(socket, 'interference_pmm_read_queue_occupancy_cycles_total', nodes),
    g.rate(socket, 'interference_pmm_read_queue_inserts_total', nodes)
  ) + '\n/\n(max by (%s) (%s) > 0)' % [socket, q.select('interference_imc_frequency_hertz', nodes)],
  local none = 'no persistent memory in use',

  grafanaDashboards+:: if !config.persistentMemory then {} else {
    'persistent-memory.json': g.dashboard(
      g.uid.persistentMemory,
      'Persistent memory',
      'Which containers write to persistent memory, how much, from how many threads, and in stores of what size.',
      g.variables(oneNode=true, containers=true),
      [
        ['Now', [
          g.stat('Writer threads per DIMM',
                 'Threads that wrote to persistent memory in the last second, per DIMM. The write bandwidth peaks at one to four threads per DIMM; above that, use fewer threads.',
                 'short',
                 'max(%s)' % perDimm,
                 {
                   decimals: 1,
                   noValue: none,
                   steps: [['blue', null], ['orange', config.nvmmWritersPerDimm]],
                 }),
          g.stat('DIMMs',
                 'Persistent memory modules of the node.',
                 'short',
                 'sum(%s)' % dimms,
                 { noValue: 'none' }),
          g.stat('Bytes written',
                 'Bytes stored to persistent memory per second, estimated from samples. Above about 2 GB/s per DIMM, the modules are at their limit.',
                 'Bps',
                 'sum(%s)' % sum('bytes', store),
                 { noValue: none }),
          g.stat('Bytes read',
                 'Bytes loaded from persistent memory per second, estimated from samples; only with --collector.pebs_nvmm.loads. Above about 6 GB/s per DIMM, the modules are at their limit.',
                 'Bps',
                 'sum(%s) > 0' % sum('bytes', load),
                 { noValue: 'none, or not sampled' }),
          g.stat('Mean store',
                 'Mean bytes per store instruction; the maximum is 64. It alerts below %d. Small: unless stores are consecutive, each one makes the media read and write %d bytes.' % [config.nvmmStoreBytes, config.nvmmGranuleBytes],
                 'decbytes',
                 q.ratio('sum(%s)' % sum('bytes', store), 'sum(%s)' % sum('accesses', store)),
                 { decimals: 0, noValue: none }),
          g.stat('Queue latency',
                 'Mean time of a persistent memory read, from the controller on, on the slowest socket. High: the modules are contended, often by writers.',
                 's',
                 'max(socket:interference_pmm_read_latency_seconds:mean5m{%s})' % nodes,
                 { decimals: 0, noValue: 'no reads' }),
        ]],
        ['Writers', [
          g.timeseries(
            'Writer threads against the peak',
            'Threads that wrote to persistent memory in the last second, by container, stacked. Dashed: one and four threads per DIMM; the write bandwidth peaks between them. Above four: use fewer writer threads.',
            'short',
            [
              g.target('sum by (%s) (%s) > 0' % [q.container, q.select('interference_container_nvmm_writer_threads', here)], name),
              g.target('sum(%s)' % dimms, 'one per DIMM'),
              g.target('sum(%s) * %g' % [dimms, config.nvmmWritersPerDimm], '%g per DIMM' % config.nvmmWritersPerDimm),
            ],
            {
              min: 0,
              decimals: 0,
              stack: true,
              h: 9,
              links: [g.toContainer],
              noValue: none,
              overrides: [
                g.byName(line[0], {
                  'custom.lineStyle': { fill: 'dash', dash: [8, 6] },
                  'custom.stacking': { mode: 'none', group: 'A' },
                  'custom.fillOpacity': 0,
                  color: { mode: 'fixed', fixedColor: line[1] },
                })
                for line in [['one per DIMM', 'blue'], ['%g per DIMM' % config.nvmmWritersPerDimm, 'orange']]
              ],
            }
          ),
          g.timeseries(
            'Bytes written',
            'Bytes stored to persistent memory per second, by container, stacked. High while the queue latency rises: this container adds most to the load on the modules. More threads and fewer bytes: too many threads.',
            'Bps',
            [g.target(sum('bytes', store) + ' > 0', name)],
            { min: 0, stack: true, h: 9, links: [g.toContainer], noValue: none }
          ),
          g.timeseries(
            'Mean store against a line and a granule',
            'Mean bytes per store instruction. Dashed: a cache line, which only the largest stores fill, and the %d bytes that the media writes at a time, which only consecutive stores fill. Too low if samples are undecoded (below). Small: collect changes in DRAM and write whole blocks.' % config.nvmmGranuleBytes,
            'decbytes',
            [
              g.target(size(store), name),
              g.target('0 * max(%s) + 64' % size(store), 'cache line'),
              g.target('0 * max(%s) + %d' % [size(store), config.nvmmGranuleBytes], 'media granule'),
            ],
            {
              min: 0,
              max: 300,
              links: [g.toContainer],
              noValue: none,
              overrides: [g.dashed('cache line', 'orange'), g.dashed('media granule', 'blue')],
            }
          ),
          g.timeseries(
            'Stores',
            'Stores to persistent memory per second, by container. Many stores but few bytes: small stores.',
            'wps',
            [g.target(sum('accesses', store) + ' > 0', name)],
            { min: 0, links: [g.toContainer], noValue: none }
          ),
        ]],
        ['Readers and the modules', [
          g.timeseries(
            'Queue latency by socket',
            'Mean time of a persistent memory read, from the controller on. High: the modules are contended; look for writers above, since writes delay reads.',
            's',
            [g.target(queue, '{{%s}} socket {{socket}}' % config.nodeLabel)],
            { w: 8, min: 0, noValue: 'no reads' }
          ),
          g.timeseries(
            'Reads at the controllers',
            "Reads per second that entered the controllers' queues for persistent memory. High: programs read it a lot; move hot data to DRAM.",
            'rps',
            [g.target(g.rate(socket, 'interference_pmm_read_queue_inserts_total', nodes), '{{%s}} socket {{socket}}' % config.nodeLabel)],
            { w: 8, min: 0, noValue: 'no reads' }
          ),
          g.timeseries(
            'Bytes read',
            'Bytes loaded from persistent memory per second, by container; only with --collector.pebs_nvmm.loads.',
            'Bps',
            [g.target(sum('bytes', load) + ' > 0', name)],
            { w: 8, min: 0, stack: true, links: [g.toContainer], noValue: 'none, or not sampled' }
          ),
        ]],
        ['Samples', [
          g.timeseries(
            'Samples by medium',
            'Samples per second from which all values above are estimated. unknown: the process had ended, or the exporter could not read its mapping. Few samples: the estimate is coarse.',
            'cps',
            [g.target(g.rate('access, medium', 'interference_container_memory_samples_total', here) + ' > 0', '{{access}} {{medium}}')],
            { w: 8, min: 0, stack: true, noValue: 'no samples' }
          ),
          g.timeseries(
            'Samples lost, undecoded, throttled',
            'lost: the buffers were full. undecoded: the size of the access is unknown. throttles: the kernel paused sampling. High: see the runbook of InterferenceSamplesLost.',
            'cps',
            [
              g.target('%s > 0' % g.rate(q.exporter + ', access', 'interference_sampler_samples_lost_total', nodes), 'lost {{%s}} {{access}}' % config.nodeLabel),
              g.target('%s > 0' % g.rate(q.exporter + ', reason', 'interference_sampler_samples_undecoded_total', nodes), 'undecoded {{%s}} {{reason}}' % config.nodeLabel),
              g.target('%s > 0' % g.rate(q.exporter + ', access', 'interference_sampler_throttles_total', nodes), 'throttles {{%s}} {{access}}' % config.nodeLabel),
            ],
            { w: 8, min: 0, noValue: 'none' }
          ),
          g.timeseries(
            'Reads for ownership, from counters',
            'An alternative that counts instead of sampling (--collector.pebs_nvmm.rfo). Far below the stores above: programs use full-line non-temporal stores, which this counter does not include.',
            'cps',
            [g.target(sum('rfo_accesses', here) + ' > 0', name)],
            { w: 8, min: 0, noValue: 'off' }
          ),
        ]],
      ],
      annotations=[g.alerts('Interference.+', nodes), g.starts(nodes)],
      links=g.exporterLinks
    ),
  },
}
