// CPU waits by the kubelet's own metrics: for nodes on which no collector lost_time runs.
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local g = grafana(config),
  local q = promql(config),
  // Its variables come from the recorded series, since there may be no exporter.
  local lost = 'container:interference_lost:ratio5m',
  local most = 'container:interference_lost_most:ratio5m',
  local here = g.onContainers,
  local name = '{{%s}} {{namespace}}/{{pod}}/{{container}}' % config.nodeLabel,

  grafanaDashboards+:: if !config.kubelet then {} else {
    'kubelet.json': g.dashboard(
      g.uid.kubelet,
      'CPU waits (kubelet)',
      'What containers wait for on nodes without the collector lost_time: their own quota, others on their CPUs, or themselves.',
      g.variables(containers=true, info=lost),
      [
        ['Now', [
          g.table(
            'What they wait for',
            'The fifty containers that wait most, the share of their time that the cause that costs them most takes, and what to do about it. Memory and disk are not in it: that takes the collector lost_time.',
            [{ name: 'Waits', unit: 'percentunit', decimals: 0, steps: [['text', null], ['orange', config.lostShareOften]], expr: 'topk(50, sum by (%s, cause) (%s{%s}))' % [q.container, most, here] }],
            [config.clusterLabel, config.nodeLabel, 'namespace', 'pod', 'container'],
            g.waitsFor { h: 12, noValue: 'nobody waits, or the kubelet does not say: Kubernetes 1.36, cgroup v2, PSI' }
          ),
        ]],
        ['Over time', [
          g.timeseries(
            'Where their time went',
            'What the chosen containers wait for, added up: 2 means the time of two containers. Own quota: their CPU limit is used up. CPUs in use by others: all tasks of a container wait at once, without its quota. Itself: some do, while others of its own run.',
            'short',
            [g.target('sum by (cause) (%s{%s})' % [lost, here], '{{cause}}')],
            { min: 0, stack: true, noValue: 'the kubelet does not say: Kubernetes 1.36, cgroup v2, PSI', overrides: g.waitsInWords }
          ),
          g.timeseries(
            'Those that wait most',
            'The ten containers that wait most for what costs them most. High: the table above says what for, and what to do.',
            'percentunit',
            [g.target('topk(10, sum by (%s) (%s{%s}))' % [q.container, most, here], name)],
            { min: 0, noValue: 'nobody waits' }
          ),
        ]],
      ],
      annotations=[g.alerts('Interference(CpuNeighbour|OwnQuota)', g.onNodes)]
    ),
  },
}
