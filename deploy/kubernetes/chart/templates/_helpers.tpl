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
{{- if .Values.releaseLabel }}
release: {{ .Release.Name }}
{{- end }}
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

{{/* The governor's: what it does not set is the exporter's. */}}
{{- define "interference-exporter.governorImage" -}}
{{- $values := deepCopy .Values }}
{{- range $key, $value := .Values.governor.image }}
{{- if $value }}
{{- $_ := set $values.image $key $value }}
{{- end }}
{{- end }}
{{- if and .Values.governor.image.tag (not .Values.governor.image.digest) }}
{{- $_ := set $values.image "digest" "" }}
{{- end }}
{{- include "interference-exporter.image" (dict "Values" $values "Chart" .Chart) }}
{{- end }}

{{- define "interference-exporter.governorName" -}}
{{- printf "%s-governor" (include "interference-exporter.fullname" . | trunc 54 | trimSuffix "-") }}
{{- end }}

{{/* Other pods than the exporter's: nothing that selects those may select these. */}}
{{- define "interference-exporter.governorSelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-governor" (include "interference-exporter.name" . | trunc 54 | trimSuffix "-") }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "interference-exporter.governorLabels" -}}
{{- $labels := include "interference-exporter.labels" . | fromYaml }}
{{- $own := include "interference-exporter.governorSelectorLabels" . | fromYaml }}
{{- toYaml (merge (dict "app.kubernetes.io/component" "governor") $own $labels) }}
{{- end }}

{{/* What it needs of the host's processes. */}}
{{- define "interference-exporter.governorHostPID" -}}
{{- or .Values.governor.resctrl .Values.governor.affinity }}
{{- end }}

{{/* Its configuration: what the values say, and what only the chart knows. */}}
{{- define "interference-exporter.governorConfig" -}}
{{- $config := deepCopy .Values.governor.config }}
{{- $exporter := default dict $config.exporter }}
{{- if or $exporter.url $exporter.socket $config.state_directory }}
{{- fail "governor.config: exporter.url, exporter.socket and state_directory are the chart's to set" }}
{{- end }}
{{- $_ := set $exporter "socket" "/run/interference_exporter/exporter.sock" }}
{{- $_ := set $config "exporter" $exporter }}
{{- $_ := set $config "state_directory" "/run/interference_governor" }}
{{- $_ := set $config "governor" 1 }}
{{- toPrettyJson $config }}
{{- end }}

{{- define "interference-exporter.image" -}}
{{- $registry := required "image.registry is empty: push the image to a registry of yours, and name that (localhost, where you load it into the nodes yourself)" (default .Values.image.registry .Values.global.imageRegistry) }}
{{- $image := printf "%s/%s" $registry .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $image .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $image (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The port on which the exporter listens, and the Service's. */}}
{{- define "interference-exporter.listenPort" -}}
{{- default .Values.service.port .Values.service.targetPort | int }}
{{- end }}

{{- define "interference-exporter.servicePort" -}}
{{- default .Values.service.port .Values.service.servicePort | int }}
{{- end }}

{{/* Not empty: it may leave root behind. What is named here only root can read, or write. */}}
{{- define "interference-exporter.nobody" -}}
{{- $root := or (eq .Values.containers.names "runtime") .Values.pebsNvmm.enabled .Values.governor.enabled (and .Values.state.enabled .Values.state.hostPath) }}
{{- if and .Values.becomeNobody (not $root) }}65534{{ end }}
{{- end }}

{{/* What the collectors in use need, and no more; those to become nobody are given up with it. */}}
{{- define "interference-exporter.capabilities" -}}
drop:
  - ALL
add:
  - PERFMON
{{- if include "interference-exporter.nobody" . }}
  - SETUID
  - SETGID
{{- end }}
{{- if .Values.counters.sysAdmin }}
  - SYS_ADMIN
{{- end }}
{{- if .Values.counters.bpf }}
  - BPF
{{- end }}
{{- if .Values.probe.sysNice }}
  - SYS_NICE
{{- end }}
{{- if .Values.pebsNvmm.enabled }}
  - SYS_PTRACE
{{- if .Values.pebsNvmm.checkpointRestore }}
  - CHECKPOINT_RESTORE
  - DAC_READ_SEARCH
{{- end }}
{{- end }}
{{- end }}

{{- define "interference-exporter.seLinuxOptions" -}}
{{- if .Values.seLinuxOptions }}
{{- toYaml .Values.seLinuxOptions }}
{{- else if .Values.openshift.enabled }}
type: spc_t
{{- end }}
{{- end }}

{{/* The affinity of the values, and in each of its terms: no virtual nodes, the image's architectures. */}}
{{- define "interference-exporter.affinity" -}}
{{- $ours := list (dict "key" "kubernetes.io/arch" "operator" "In" "values" .Values.architectures) }}
{{- if .Values.excludeVirtualNodes }}
{{- $ours = append $ours (dict "key" "eks.amazonaws.com/compute-type" "operator" "NotIn" "values" (list "fargate")) }}
{{- $ours = append $ours (dict "key" "type" "operator" "NotIn" "values" (list "virtual-kubelet")) }}
{{- end }}
{{- $affinity := deepCopy .Values.affinity }}
{{- $node := default dict $affinity.nodeAffinity }}
{{- $given := default dict $node.requiredDuringSchedulingIgnoredDuringExecution }}
{{- $terms := list }}
{{- range default (list dict) $given.nodeSelectorTerms }}
{{- $term := deepCopy . }}
{{- $terms = append $terms (set $term "matchExpressions" (concat (default list $term.matchExpressions) $ours)) }}
{{- end }}
{{- $required := dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) }}
{{- toYaml (set $affinity "nodeAffinity" (merge $required $node)) }}
{{- end }}

{{/* Those of the named values that say something, as they are: (list VALUES NAME...). */}}
{{- define "interference-exporter.given" -}}
{{- $values := first . }}
{{- $given := dict }}
{{- range rest . }}
{{- $value := index $values . }}
{{- if or $value (kindIs "bool" $value) }}
{{- $_ := set $given . $value }}
{{- end }}
{{- end }}
{{- with $given }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* What is alike in both monitors' specs: (list $ .Values.monitor). */}}
{{- define "interference-exporter.monitorSpec" -}}
{{- $root := index . 0 }}
{{- with index . 1 -}}
jobLabel: {{ default "app.kubernetes.io/name" .jobLabel }}
selector:
  {{- if .selectorOverride }}
  {{- toYaml .selectorOverride | nindent 2 }}
  {{- else }}
  matchLabels:
    {{- include "interference-exporter.selectorLabels" $root | nindent 4 }}
  {{- end }}
namespaceSelector:
  matchNames:
    - {{ include "interference-exporter.namespace" $root }}
{{- with include "interference-exporter.given" (list . "podTargetLabels" "targetLabels" "attachMetadata" "sampleLimit" "targetLimit" "labelLimit" "labelNameLengthLimit" "labelValueLengthLimit") }}
{{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* And in their endpoints. */}}
{{- define "interference-exporter.monitorEndpoint" -}}
{{- $root := index . 0 }}
{{- with index . 1 -}}
port: {{ $root.Values.service.portName }}
path: {{ default "/metrics" .path }}
{{- with default (include "interference-exporter.scheme" $root) .scheme }}
scheme: {{ . }}
{{- end }}
interval: {{ .interval }}
scrapeTimeout: {{ .scrapeTimeout }}
honorLabels: true
{{- with include "interference-exporter.given" (list . "tlsConfig" "basicAuth" "bearerTokenFile" "bearerTokenSecret" "authorization" "oauth2" "proxyUrl" "params" "filterRunning" "followRedirects" "enableHttp2" "honorTimestamps" "metricRelabelings") }}
{{ . }}
{{- end }}
relabelings:
  {{- include "interference-exporter.relabelings" $root | nindent 2 }}
  {{- with .relabelings }}
  {{- toYaml . | nindent 2 }}
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

{{/* A dashboard as the values want it: (list $ "files/dashboards/node.json") */}}
{{- define "interference-exporter.dashboard" -}}
{{- $root := index . 0 }}
{{- $text := $root.Files.Get (index . 1) }}
{{- with $root.Values.rules.runbookUrlPrefix }}
{{- $text = replace "https://set-runbookUrlPrefix.invalid/dashboards/runbooks/" . $text }}
{{- end }}
{{- $exporter := "http://${node}:10066" }}
{{- with $root.Values.dashboards.exporterUrl }}
{{- $text = replace $exporter (trimSuffix "/" .) $text }}
{{- else }}
{{- $board := fromJson $text }}
{{- $links := list }}
{{- range $board.links }}
{{- if not (hasPrefix $exporter (default "" .url)) }}
{{- $links = append $links . }}
{{- end }}
{{- end }}
{{- $text = set $board "links" $links | toPrettyJson }}
{{- end }}
{{- $text }}
{{- end }}

{{/* A file of rules as the values want it: (list $ "files/rules/alerts.yaml") */}}
{{- define "interference-exporter.rules" -}}
{{- $root := index . 0 }}
{{- $text := $root.Files.Get (index . 1) }}
{{- with $root.Values.rules.runbookUrlPrefix }}
{{- $text = replace "https://set-runbookUrlPrefix.invalid/dashboards/runbooks/" . $text }}
{{- end }}
{{- with $root.Values.rules.grafanaUrl }}
{{- $text = replace "https://set-grafanaUrl.invalid" (trimSuffix "/" .) $text }}
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
