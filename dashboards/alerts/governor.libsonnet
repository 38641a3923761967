// Alerts about interference_governor, which acts: nothing fires where there is none. Runbooks and tests as for the others.
local alerting = import '../lib/alerting.libsonnet';
local grafana = import '../lib/grafana.libsonnet';
local promql = import '../lib/promql.libsonnet';

{
  local config = $._config,
  local a = alerting(config),
  local g = grafana(config),
  local q = promql(config),
  local metric(name, matchers='') = q.select('interference_governor_' + name, matchers),
  local total(expr) = 'sum by (%s) (%s)' % [q.exporter, expr],
  local counted(name, range, matchers='') = total('increase(%s[%s])' % [metric(name, matchers), range]),
  local claims = total(metric('claims')),
  // Threads that nvmm_cores keeps on few CPUs are neither cut to a least nor raised, and move as often as they write in
  // bursts: what is said of quotas, ways and bandwidth must not be taken from them.
  local restricted = metric('claims', 'actuator!="affinity"'),
  local up = 'up{%s}' % config.governorJobSelector,
  // What it does, or would do in mode observe. Epochs hold best effort and let go whatever it does.
  local done(actions) = 'policy!~"nvmm_cores|epochs", action=~"%s", outcome=~"applied|dry_run"' % actions,
  // More than so many, and more than so many for each that was held.
  local often(name, matchers, range, limit, each, held=metric('claims')) = '%s > %g\nand on (%s)\n%s\n> %g *\n%s' % [
    counted(name, range, matchers),
    limit,
    q.exporter,
    counted(name, range, matchers),
    each,
    total('max_over_time(%s[%s])' % [held, range]),
  ],
  local ofNode = a.about('governor', g.uid.node, a.ofMachine),
  local ofCluster = a.about('governor', g.uid.fleet, a.ofCluster),
  local here = '{{ $labels.instance }}',

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'interference-governor',
        interval: config.interval,
        rules: [
          // It does not answer; or it is gone, and held something when it was last seen.
          a.alert(
            'InterferenceGovernorDown',
            '5m',
            'warning',
            |||
              count by (%(cluster)s) (
                max by (%(exporter)s) (%(up)s) == 0
                or
                %(held)s > 0
                and on (%(exporter)s)
                max by (%(exporter)s) (max_over_time(%(acts)s[1h])) == 1
                unless on (%(exporter)s)
                %(claims)s
              )
            ||| % {
              cluster: config.clusterLabel,
              exporter: q.exporter,
              up: up,
              held: total('max_over_time(%s[1h])' % metric('claims')),
              acts: metric('mode', 'mode="enforce"'),
              claims: claims,
            },
            'interference_governor does not run on {{ $value }} of the nodes.',
            a.fiveOf(
              'On {{ $value }} of the nodes, interference_governor cannot be scraped, or has disappeared while it held containers back. It gives back what it took when it ends and when it starts; one that was killed and does not start again leaves quotas in force. Some of those that cannot be scraped:',
              '{{ $one.Labels.instance }}',
              [config.clusterLabel],
              'max by (instance) (up{%s=%%q, %s} == 0)' % [config.clusterLabel, config.governorJobSelector]
            )
          ) + ofCluster,
          // By the age alone: one that is seldom scraped is seen at any age up to an interval, or always at the same one.
          a.alert(
            'InterferenceGovernorBlind',
            '1m',
            'warning',
            'count by (%s) (\n  max by (%s) (%s) > %g\n)' % [
              config.clusterLabel,
              q.exporter,
              metric('exporter_data_age_seconds'),
              config.governorBlindSeconds,
            ],
            'interference_governor has no data of its exporter on {{ $value }} of the nodes.',
            a.fiveOf(
              'On {{ $value }} of the nodes, interference_governor has had no tick of its exporter that it may act on for 5 minutes. It has given back all that it held, and protects nobody. Some of them:',
              '{{ $one.Labels.instance }}',
              [config.clusterLabel],
              'max by (instance) (%s > %g)' % [metric('exporter_data_age_seconds', '%s=%%q' % config.clusterLabel), config.governorBlindSeconds]
            )
          ) + ofCluster,
          // More than once for each: one daemon-reload resets all that are held.
          a.alert(
            'InterferenceGovernorFightsAnotherWriter',
            '1m',
            'warning',
            often('foreign_writes_total', '', '15m', config.governorForeignWrites, config.governorForeignWritesEach),
            'On %s, somebody else writes what interference_governor sets.' % here,
            'On %s, restricted settings were changed {{ $value | humanize }} times in 15 minutes by another program, on average more than %g times each: systemd, a VPA, an in-place resize, another agent. interference_governor sets its own again a few times, and then leaves the container alone.' % [here, config.governorForeignWritesEach]
          ) + ofNode,
          // More than a few for each: many containers that are cut once are no flapping.
          a.alert(
            'InterferenceGovernorFlapping',
            '1m',
            'warning',
            often('decisions_total', done('cut'), '10m', config.governorCuts, config.governorCutsEach, restricted),
            'interference_governor on %s cuts and raises again and again.' % here,
            'On %s, interference_governor has cut containers {{ $value | humanize }} times in 10 minutes, on average more than %d times each. Their work comes in bursts, or the limit of the protected ones is within the noise of their latency.' % [here, config.governorCutsEach]
          ) + ofNode,
          a.alert(
            'InterferenceGovernorFutile',
            '1m',
            'info',
            '%s > 0' % counted('futile_total', '30m'),
            'Restricting containers on %s does not help.' % here,
            'On %s, interference_governor held containers at their least, and the protected ones still waited (times in 30 minutes: {{ $value | humanize }}). It has given them back. The cause of the latency is elsewhere: another guest of the host, the kernel, a protected container itself, stores.' % here
          ) + ofNode,
          // What is at its least can neither be cut nor, while a protected container is over its limit, raised. A bound that
          // is kept is missed in a window now and then; a window is a tick, or a second where ticks are shorter.
          a.alert(
            'InterferenceGovernorAtFloor',
            '15m',
            'warning',
            |||
              %(claims)s > 0
              unless on (%(exporter)s)
              %(moves)s > 0
              and on (%(exporter)s)
              (
                %(over)s > %(share)g * clamp_max(%(ticks)s, 300)
                or
                %(missed)s > 0
              )
            ||| % {
              claims: total(restricted),
              exporter: q.exporter,
              moves: counted('decisions_total', '5m', done('cut|raise|set|release')),
              over: counted('culprits_chosen_total', '5m'),
              share: config.governorOverShare,
              ticks: counted('ticks_total', '5m'),
              missed: counted('bound_missed_total', '5m'),
            },
            'interference_governor on %s can take no more, and protected containers still wait.' % here,
            'On %s, {{ $value }} restrictions have been in force for 15 minutes without being cut further or raised, and protected containers were over their limits all that time.' % here
          ) + ofNode,
          // Acting, it has open claims, and only those that it tries in vain are none of its own will.
          a.alert(
            'InterferenceGovernorRestoreFailed',
            '1m',
            'warning',
            |||
              %(open)s > 0
              and on (%(exporter)s)
              (
                max by (%(exporter)s) (%(idle)s) == 1
                or
                %(failed)s > 0
              )
            ||| % {
              open: total(metric('journal_open_claims')),
              exporter: q.exporter,
              idle: metric('mode', 'mode=~"observe|paused"'),
              failed: counted('restores_total', '5m', 'outcome="failed"'),
            },
            'interference_governor on %s cannot give back what was taken.' % here,
            'On %s, interference_governor cannot put settings back to what they were; its journal has {{ $value }} of them. The containers run with too small a quota, too few ways of the cache, too little memory bandwidth or with threads on too few CPUs until they are started again, or somebody sets the original.' % here
          ) + ofNode,
          a.alert(
            'InterferenceGovernorJournal',
            '1m',
            'warning',
            '%s > 0' % counted('journal_errors_total', '10m'),
            'interference_governor on %s cannot write its journal.' % here,
            'On %s, {{ $value | humanize }} lines of the journal could not be written in 10 minutes. Without it, interference_governor changes nothing, and gives everything back after 1 minute.' % here
          ) + ofNode,
        ],
      },
    ],
  },
}
