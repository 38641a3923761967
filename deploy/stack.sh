#!/bin/bash
# Prometheus and Alertmanager around the quickstart: sourced by quickstart.sh, whose variables it
# uses. Everything they write is below its temporary directory, but for their logs.
# shellcheck disable=SC2154

# What the demo divides the rules' durations by: an alert that waits a quarter of an hour waits 45 s.
demo_factor=20
demo_words="a REPLAY of a simulated node; the rules' durations are divided by $demo_factor"

# Settings for the demo and for the real thing differ in the labels that say which it is.
prometheus_config() {
    local node interval external='' rules file
    rules=$work/rules
    mkdir -p "$rules"
    if [ -n "$demo" ]; then
        node=replay
        interval=1s
        external="  external_labels: {replay: \"$demo_words\"}"
        for file in rules alerts; do
            deploy/demo/scale-rules.sh "$demo_factor" "dashboards/rendered/$file.yaml" \
                >"$rules/$file.yaml"
        done
    else
        node=$(uname -n)
        interval=5s
        cp dashboards/rendered/{rules,alerts}.yaml "$rules"
    fi
    cat <<EOF
global:
  scrape_interval: $interval
  scrape_timeout: 1s
  evaluation_interval: $interval
$external
rule_files: ['$rules/*.yaml']
alerting:
  alertmanagers:
  - static_configs: [{targets: ['127.0.0.1:$alertmanager_port']}]
scrape_configs:
- job_name: interference-exporter
  static_configs:
  - targets: ['127.0.0.1:$port']
    labels: {node: '$node'}
EOF
}

start_stack() {
    local server
    prometheus_config >"$work/prometheus.yml"
    cat >"$work/alertmanager.yml" <<EOF
route: {receiver: nobody, group_by: [alertname, node], group_wait: 1s, group_interval: 5s}
receivers: [{name: nobody}]
EOF
    run prometheus-alertmanager "--config.file=$work/alertmanager.yml" \
        "--storage.path=$work/alertmanager" --cluster.listen-address= \
        "--web.listen-address=127.0.0.1:$alertmanager_port" >"$build/alertmanager.log" 2>&1
    run prometheus "--config.file=$work/prometheus.yml" "--storage.tsdb.path=$work/prometheus" \
        "--web.listen-address=127.0.0.1:$prometheus_port" \
        "--web.page-title=interference_exporter${demo:+: $demo_words}" >"$build/prometheus.log" 2>&1
    for server in "$alertmanager_port" "$prometheus_port"; do
        wait_ready "http://127.0.0.1:$server" "see $build/prometheus.log and alertmanager.log"
    done
    find_alerts_page
}

# Debian's Prometheus has the classic pages only, others have only the new ones; the API is in all.
find_alerts_page() {
    for alerts_page in /alerts /classic/alerts /api/v1/alerts; do
        if curl -fs --max-time 5 -o "$work/page" "$prometheus_url$alerts_page"; then
            break
        fi
    done
}

# What Prometheus finds wrong at the moment. One late answer of a busy machine is no reason to end.
show_alerts() {
    if ! curl -fs --max-time 5 -o "$work/alerts" "$prometheus_url/api/v1/alerts"; then
        echo "alerts: unknown, Prometheus did not answer"
        return
    fi
    jq -r '
        [.data.alerts[] | "  \(.state): \(.labels.alertname): \(.annotations.summary // "")"]
        | sort | if . == [] then "alerts: none" else "alerts:", .[] end' "$work/alerts"
}
