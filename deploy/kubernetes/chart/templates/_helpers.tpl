{{- define "interference-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "interference-exporter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "interference-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "interference-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "interference-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "interference-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: metrics
{{ include "interference-exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "interference-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "interference-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "interference-exporter.priorityClassName" -}}
{{- if .Values.priorityClassName }}
{{- .Values.priorityClassName }}
{{- else if .Values.priorityClass.create }}
{{- default (include "interference-exporter.fullname" .) .Values.priorityClass.name }}
{{- end }}
{{- end }}

{{- define "interference-exporter.image" -}}
{{- $image := .Values.image.repository }}
{{- with .Values.image.registry }}
{{- $image = printf "%s/%s" . $image }}
{{- end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $image .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $image (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* What the collectors in use need, and no more. */}}
{{- define "interference-exporter.capabilities" -}}
drop:
  - ALL
add:
  - PERFMON
{{- if .Values.counters.sysAdmin }}
  - SYS_ADMIN
{{- end }}
{{- if .Values.probe.sysNice }}
  - SYS_NICE
{{- end }}
{{- if .Values.pebsNvmm.enabled }}
  - SYS_PTRACE
{{- if .Values.pebsNvmm.checkpointRestore }}
  - CHECKPOINT_RESTORE
{{- end }}
{{- end }}
{{- end }}

{{/*
Whose series are these? The target's labels are those of the exporter's own pod; left in place they
would stand on every series of the node, and change with every restart. They go, as the last thing
that happens to the target's labels before the scrape, and node and instance take their place.
(metricRelabelings would be too late: there the same names are the measured containers'.)
*/}}
{{- define "interference-exporter.relabelings" -}}
- sourceLabels: [__meta_kubernetes_pod_node_name]
  targetLabel: node
- sourceLabels: [__meta_kubernetes_pod_node_name]
  targetLabel: instance
- action: labeldrop
  regex: namespace|pod|container|service|endpoint
{{- end }}

{{/* https, or nothing for http. */}}
{{- define "interference-exporter.scheme" -}}
{{- with .Values.webConfig }}
{{- if or (and .secretName .tls) .config.tls_server_config }}https{{ end }}
{{- end }}
{{- end }}

{{/*
How the kubelet asks: (list $ "/-/healthy"). It verifies no certificate, and has none to show, nor a
password. Where it would need one, or that is not known, it only connects.
*/}}
{{- define "interference-exporter.probe" -}}
{{- $root := index . 0 }}
{{- $web := $root.Values.webConfig }}
{{- $tls := default dict $web.config.tls_server_config }}
{{- $asked := or $web.config.basic_auth_users (hasPrefix "Require" (default "" $tls.client_auth_type)) $tls.client_allowed_sans }}
{{- if or $asked (and $web.secretName (not $web.config)) }}
tcpSocket:
  port: {{ $root.Values.service.portName }}
{{- else }}
httpGet:
  path: {{ index . 1 }}
  port: {{ $root.Values.service.portName }}
  {{- with include "interference-exporter.scheme" $root }}
  scheme: {{ upper . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A file of rules as the values want it: (list $ "files/rules/alerts.yaml") */}}
{{- define "interference-exporter.rules" -}}
{{- $root := index . 0 }}
{{- $text := $root.Files.Get (index . 1) }}
{{- with $root.Values.rules.runbookUrlPrefix }}
{{- $text = replace "dashboards/runbooks/" . $text }}
{{- end }}
{{- if $root.Values.rules.disabled }}
{{- $groups := list }}
{{- range (fromYaml $text).groups }}
{{- $rules := list }}
{{- range .rules }}
{{- if not (has .alert $root.Values.rules.disabled) }}
{{- $rules = append $rules . }}
{{- end }}
{{- end }}
{{- $groups = append $groups (set . "rules" $rules) }}
{{- end }}
{{- $text = toYaml (dict "groups" $groups) }}
{{- end }}
{{- $text }}
{{- end }}
