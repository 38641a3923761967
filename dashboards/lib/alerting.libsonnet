// What alerts are made of: texts, labels, and the dashboard that shows what an alert is about.
local grafana = import 'grafana.libsonnet';

function(config) {
  local g = grafana(config),
  local a = self,
  local node = [config.clusterLabel, config.nodeLabel],
  local ofContainer = node + ['namespace', 'pod', 'container'],
  local matchers(labels) = std.join(', ', [l + '=%q' for l in labels]),
  // For annotations and labels: a query, with %q for the alert's own labels.
  local query(expr, labels) =
    '(printf %s %s | query)' % [std.escapeStringJson(expr), std.join(' ', ['$labels.' + l for l in labels])],

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

  // A query about the alert's own node, which is HERE in it.
  ofNode(expr):: query(std.strReplace(expr, 'HERE', matchers(node)), node),

  // Which file of the black box has what was before, where there is one.
  recorded:: '{{ with %s }} What was before is recorded there:{{ range . }} {{ .Labels.file }}{{ end }} (the runbooks say how to open it).{{ end }}' % self.ofNode(
    'max by (file) (interference_exporter_blackbox_newest_file_info{HERE})'
  ),

  // A label with what a query finds first. Never empty: Prometheus would write the template itself into ALERTS.
  found(label, labels, expr, otherwise):: {
    [label]: '{{ with %s }}{{ . | first | label "%s" }}{{ else }}%s{{ end }}' % [query(expr, labels), label, otherwise],
  },
  // Whose it is, by what kube-state-metrics knows of its namespace.
  owned(alert):: alert + if config.teamLabel == '' then {} else {
    labels+: a.found(
      config.teamLabel,
      [config.clusterLabel, 'namespace'],
      'kube_namespace_labels{%s=%%q, namespace=%%q, %s!=""}' % [config.clusterLabel, config.teamLabel],
      'none'
    ),
  },

  // What costs the container most time: so that Alertmanager can hold back what its own quota explains.
  caused:: {
    labels+: a.found('cause', ofContainer, 'container:interference_lost_most:ratio5m{%s}' % matchers(ofContainer), 'unknown'),
  },
  // Behind a sentence: all that costs it a hundredth of its time.
  timeWent:: '{{ with %s }} What it waits for, as shares of its time:{{ range $i, $part := . }}{{ if $i }},{{ end }} {{ reReplaceAll "_" " " $part.Labels.cause }} {{ $part.Value | humanizePercentage }}{{ end }}.{{ end }}' % query(
    'sort_desc(max by (cause) (container:interference_lost:ratio5m{%s}) > 0.01)' % matchers(ofContainer), ofContainer
  ),
}
