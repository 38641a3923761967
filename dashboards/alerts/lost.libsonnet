// Alerts about where the time of containers went, from the collector lost_time or the kubelet.
local alerting = import '../lib/alerting.libsonnet';
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  local a = alerting(config),
  local aboutContainer = a.about('cpu', g.uid.container, a.ofMachine + [[l, l] for l in ['namespace', 'pod', 'container']]),
  // Who takes what others are entitled to is no victim of theirs, though it waits as well.
  local taken(matchers='', by=q.container) = q.rate(by, 'interference_container_cpu_taken_seconds_total', matchers=matchers) + ' > 0.01',
  local most(cause, share) = 'container:interference_lost_most:ratio5m{cause="%s"} > %g' % [cause, share],

  // For whoever has no CPUThrottlingHigh: see config.libsonnet. It waits no longer than those that it explains.
  local ownQuota = a.alert(
    'InterferenceOwnQuota',
    '5m',
    'info',
    most('own_quota', config.ownQuotaShare),
    'Container %s waits for its own CPU quota.' % a.container,
    'On node %s, %s waits {{ $value | humanizePercentage }} of its time because it has used up its CPU limit: nothing else costs it more. Raise the limit or drop it; nobody else is to blame.%s%s' % [a.node, a.container, a.timeWent, a.recorded]
  ) + aboutContainer,
  local cpuNeighbour = a.alert(
    'InterferenceCpuNeighbour',
    '15m',
    'warning',
    '%s\nunless on (%s)\n%s' % [most('cpu_neighbour', config.cpuNeighbourShare), q.container, taken()],
    'Container %s waits for CPUs that others use.' % a.container,
    'On node %s, %s waits {{ $value | humanizePercentage }} of its time for a CPU on which others run; its own quota does not explain it. {{ with %s }}Take more CPU there than they are entitled to, by what others wait in each second because of it:{{ range $i, $c := . }}{{ if $i }},{{ end }} {{ $c.Labels.namespace }}/{{ $c.Labels.pod }}/{{ $c.Labels.container }} {{ $c.Value | humanize }}s{{ end }}.{{ else }}No container is known to take more there than it is entitled to: the node is full, or what this one requests is too little.{{ end }}%s%s' % [
      a.node,
      a.container,
      a.ofNode('sort_desc(topk(3, %s))' % taken('HERE', 'namespace, pod, container')),
      a.timeWent,
      a.recorded,
    ]
  ) + aboutContainer,

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'interference-lost',
        interval: config.interval,
        rules: std.map(
          a.owned,
          (if config.ownQuotaAlert then [ownQuota] else []) + (if config.cpuNeighbourAlert then [cpuNeighbour] else [])
        ),
      },
    ],
  },
}
