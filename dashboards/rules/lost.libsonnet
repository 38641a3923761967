// Recording rules: where the time of containers went, by cause, and the cause that costs one most.
//
// From the collector lost_time; on nodes without it from the kubelet's own metrics, for whoever loads
// those rules (kubelet: true, or rendered/kubelet).
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local q = promql(config),
  local rule(record, expr) = { record: record, expr: std.rstripChars(expr, '\n') },
  local cause = q.container + ', cause',

  // Of each cause what it cost in the last quarter of an hour, if that is a verdict. The verdict that there is stays
  // until another cause costs half as much again: it is a label of alerts, which begin anew when a label changes.
  local verdicts(matcher, least) = |||
    (
      1.5 * (
        avg_over_time(container:interference_lost:ratio5m{%(matcher)s}[15m])
        and on (%(cause)s)
        container:interference_lost_most:ratio5m
      )
      or
      avg_over_time(container:interference_lost:ratio5m{%(matcher)s}[15m])
    ) >= %(least)g
  ||| % { matcher: matcher, cause: cause, least: least },
  local indented(text) = std.join('\n', ['  ' + line for line in std.split(std.rstripChars(text, '\n'), '\n')]),

  // Nodes that the collector serves: what the kubelet says of them is not needed.
  local served = 'max by (%s) (%s) == 1'
                 % [q.node, q.select('interference_exporter_collector_available', 'collector="lost_time"')],
  local ofKubelet(metric) = 'sum by (%s) (rate(%s{%s}[5m]))' % [q.container, metric, config.kubeletSelector],
  local named(expr, cause) = 'label_replace(\n%s,\n  "cause", "%s", "", ""\n)' % [indented(expr), cause],
  local waiting = 'container:interference_kubelet_cpu_waiting:ratio5m',
  local ofQuota = 'container:interference_kubelet_cpu_of_quota:ratio5m',
  local throttled = q.ratio(ofKubelet('container_cpu_cfs_throttled_periods_total'), ofKubelet('container_cpu_cfs_periods_total')),
  // As collectors/formulas/lost_time.h has it: what the quota does not explain, from where on that counts.
  local rest = '(%s - %s)' % [waiting, ofQuota],
  local counted = '%s\n* (%s >= bool %g)' % [rest, rest, config.lostShareOften],
  // 1 where all of its tasks wait at once, so that none of them is what the others wait for; else 0.
  local together = '(\n%s\n  - %s\n  >= bool\n  0.5 * %s\n)' % [
    indented(ofKubelet('container_pressure_cpu_stalled_seconds_total')),
    ofQuota,
    rest,
  ],

  local kubelet = {
    name: 'interference-kubelet.rules',
    interval: config.interval,
    rules: [
      // As a share of its time: some of its tasks wait for a CPU.
      rule(waiting, '%s\nunless on (%s)\n%s' % [ofKubelet('container_pressure_cpu_waiting_seconds_total'), q.node, served]),
      // Of that, what throttled periods explain. Their number, not their time, which is added up over CPUs.
      rule(ofQuota, '%s\n* clamp_max(\n%s,\n  1\n)\nor\n0 * %s' % [
        waiting,
        indented('%s >= %g' % [throttled, config.lostThrottled]),
        waiting,
      ]),
      rule('container:interference_lost:ratio5m', std.join('\nor\n', [
        named(ofQuota, 'own_quota'),
        named('%s\n* %s' % [counted, together], 'cpu_neighbour'),
        named('%s\n* (1 - %s)' % [counted, together], 'itself'),
      ])),
    ],
  },

  prometheusRules+:: {
    groups+: (if config.kubelet then [kubelet] else []) + [
      {
        name: 'interference-lost.rules',
        interval: config.interval,
        rules: [
          rule('container:interference_lost:ratio5m', q.rate(cause, 'interference_container_lost_seconds_total')),
          rule('container:interference_lost_most:ratio5m', |||
            container:interference_lost:ratio5m
            and on (%(cause)s)
            topk by (%(container)s) (1,
            %(cpu)s
              or
            %(other)s
            )
          ||| % {
            container: q.container,
            cause: cause,
            cpu: indented(verdicts('cause=~"%s"' % config.lostOften, config.lostShareOften)),
            other: indented(verdicts('cause!~"%s"' % config.lostOften, config.lostShare)),
          }),
          // Seconds of containers' time in each second: over any range, add up.
          rule('namespace:interference_lost:rate5m',
               'sum by (%s, namespace, cause) (container:interference_lost:ratio5m)' % config.clusterLabel),
        ],
      },
    ],
  },
}
