(import 'config.libsonnet') +
(import 'rules/lost.libsonnet') +
(import 'rules/rules.libsonnet') +
(import 'alerts/alerts.libsonnet') +
(import 'alerts/lost.libsonnet') +
(import 'alerts/governor.libsonnet') +
(import 'dashboards/fleet.libsonnet') +
(import 'dashboards/node.libsonnet') +
(import 'dashboards/container.libsonnet') +
(import 'dashboards/kubelet.libsonnet') +
(import 'dashboards/persistent-memory.libsonnet')
