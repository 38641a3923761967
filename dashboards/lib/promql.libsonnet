// Selectors and label lists, made from the configuration.
function(config) {
  local names(labels) = std.join(', ', labels),

  node:: names([config.clusterLabel, config.nodeLabel]),
  // The exporter's process: two of them on one node (a replay beside a live one) stay apart.
  exporter:: names([config.clusterLabel, config.nodeLabel] + (if config.nodeLabel == 'instance' then [] else ['instance'])),
  // container_id is aggregated away: a restarted container is the same one to its users.
  container:: names([config.clusterLabel, config.nodeLabel, 'namespace', 'pod', 'container']),
  // One NUMA node's memory, as the estimate of causes sees it.
  memory:: names([config.clusterLabel, config.nodeLabel, 'numa_node']),
  // What a user's own bound is given for: every replica of a container.
  workload:: names([config.clusterLabel, 'namespace', 'container']),

  // Of a duration such as '30s'.
  seconds(duration)::
    local n = std.length(duration) - 1;
    std.parseInt(duration[:n]) * { s: 1, m: 60, h: 3600 }[duration[n:]],

  select(metric, matchers='')::
    local all = std.filter(function(m) m != '', [matchers, config.selector]);
    metric + (if all == [] then '' else '{' + std.join(', ', all) + '}'),

  // sum by (labels) (rate(metric[range]))
  rate(labels, metric, range='5m', matchers='')::
    'sum by (%s) (rate(%s[%s]))' % [labels, self.select(metric, matchers), range],

  // What a heat map shows of a histogram, given the sum of its rates by `le`, which is empty where it
  // is stored as a native one, and that of the native one, which is empty where it is a classic one.
  buckets(classic, native):: 'sum (%s)\nor on ()\nsum by (le) (%s)' % [native, classic],

  // The probe's mean over a range. Stored as a native histogram, it has no _sum and _count; the
  // functions that would take them out are not PromQL's of all engines, so the last readings serve.
  probe(labels, range='5m', matchers='')::
    local name = 'interference_memory_probe_window_latency_seconds';
    '%s\nor\navg by (%s) (avg_over_time(%s[%s]))' % [
      self.ratio(self.rate(labels, name + '_sum', range, matchers),
                 self.rate(labels, name + '_count', range, matchers)),
      labels,
      self.select('interference_memory_probe_latency_seconds', matchers),
      range,
    ],

  // A ratio that is absent, not NaN or infinite, where there is nothing to divide by.
  ratio(numerator, denominator, matching='')::
    std.join('\n', [numerator, std.rstripChars('/ ' + matching, ' '), '(%s > 0)' % denominator]),
}
