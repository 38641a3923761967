// What alerts are made of: texts, labels, and the dashboard that shows what an alert is about.
local grafana = import 'grafana.libsonnet';

function(config) {
  local g = grafana(config),

  // Durations in the texts are digits and a unit ("15 minutes"): deploy/demo scales them with the rules'.
  alert(name, wait, severity, expr, summary, description):: {
    alert: name,
    expr: std.rstripChars(expr, '\n'),
    'for': wait,
    labels: config.alertLabels { severity: severity },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: config.runbookUrlPrefix + name + '.md',
    },
  },

  // Whose area an alert is, and the dashboard that shows it, with the values of the alert's labels.
  about(area, uid, values):: {
    labels+: { area: area },
    annotations+: {
      dashboard_url: '%s/d/%s?' % [config.grafanaUrl, uid] + std.join('&', [
        'var-%s={{ $labels.%s | urlquery }}' % v
        for v in values
      ]),
    },
  },
  ofCluster:: [['cluster', config.clusterLabel]],
  ofMachine:: self.ofCluster + [['node', config.nodeLabel]],

  // For annotations of alerts about many: five of them, by name or, with `by` empty, the highest first.
  fiveOf(what, text, labels, expr, by='instance'):: '%s{{ with (printf %s %s | query%s) }}{{ range $i, $one := . }}{{ if $i }},{{ end }} %s{{ end }}{{ end }}.' % [
    what,
    std.escapeStringJson('topk(5, %s)' % expr),
    std.join(' ', ['$labels.' + l for l in labels]),
    if by == '' then '' else ' | sortByLabel ' + std.escapeStringJson(by),
    text,
  ],

  node:: '{{ $labels.%s }}' % config.nodeLabel,
  container:: '{{ $labels.namespace }}/{{ $labels.pod }}/{{ $labels.container }}',
}
