// Everything a user may want to change. Override it as in README.md.
{
  _config+:: {
    // Labels that the scraper gives. `node` names the machine; where the scrape configuration has no
    // such label (plain hosts), set nodeLabel to 'instance'. A missing cluster label does no harm.
    clusterLabel: 'cluster',
    nodeLabel: 'node',
    // Added to every selector of the exporter's own metrics, e.g. 'env="prod"'.
    selector: '',
    // For metrics that other programs have too: up, process_*.
    jobSelector: 'job=~".*interference.*", job!~".*governor.*"',
    governorJobSelector: 'job=~".*interference.*governor.*"',

    // How often rules are evaluated.
    interval: '1m',

    // The probe's baseline reads a day of history each time. Longer than 5 minutes, and what was recorded
    // is stale before it is recorded again.
    baselineInterval: '4m',

    // A container waits: share of its observed time above its threshold (Shen & Li: the baseline
    // times 1.25, set in the exporter), and how much of the time must have been observed.
    latencyShare: 0.5,
    minimumObserved: 0.1,
    // Memory reads per second. With fewer, even 100 ns more for each cost a program less than a thousandth of
    // its time.
    minimumReads: 10000,
    // What is known to cost a container less is no alert: at no time in 15 minutes more of its cycles lost
    // to memory, or more CPUs used. Where neither is known, its waiting alerts by itself.
    materialLoss: 0.05,
    materialCpus: 0.25,

    // A container is slowed down: times as long as alone, where no bound of its own is recorded.
    // The model is pinned: models differ in their error, and their maximum means nothing.
    slowdownModel: 'passive',
    slowdownBound: 1.5,
    // Below this, a slowdown is within the model's error: graphs show it grey.
    slowdownNoise: 1.15,
    // `passive` may warn; a model that has the paper's error may page.
    slowdownSeverity: if self.slowdownModel == 'passive' then 'warning' else 'critical',

    // Minutes that the containers of one name, added up over its pods, spend above the bound in a day: short
    // jobs that are over before InterferenceContainerSlowdown has waited.
    slowMinutesPerDay: 60,

    // Containers of one node that wait at the same time: then the node is one alert.
    manyContainers: 5,

    // Mean DRAM read latency inside a socket's controllers, where the memory is DDR4: idle ones take 50 to 60 ns.
    imcLatencySeconds: 120e-9,
    imcLatencyKnown: 'skx|clx|icx',
    // On every other CPU, times the socket's own calm one (the 10th percentile of the last day): no published figure
    // says what is idle for DDR5, and for whatever comes next.
    imcLatencyFactor: 2,
    // AMD: mean latency of the misses of a socket's L3s, times its own calm one, as well.
    l3LatencyFactor: 1.5,

    // Rules, alerts and dashboard for persistent memory. Without it, render.sh writes them apart, for whoever
    // has such modules.
    persistentMemory: false,
    // Schmidt 2022: write bandwidth of a DIMM peaks at one to four threads.
    nvmmWritersPerDimm: 4,
    // The media writes 256 bytes at a time. One instruction stores at most 64, so full granules are
    // made of consecutive full-line stores; the mean size tells those from scattered small ones.
    nvmmGranuleBytes: 256,
    nvmmStoreBytes: 32,
    nvmmStoreBytesPerSecond: 10e6,

    // Shares of the calm latency of a NUMA node's memory (the 10th percentile of its last hour, without
    // what named containers add): what one container adds to it, and what is added to it without one container to name.
    aggressorShare: 0.1,
    unattributedShare: 0.15,
    // Below this share of a NUMA node's CPUs in use, an excess is nobody's: processors clock caches and memory
    // controllers lower when they are idle.
    idleShare: 0.05,

    // This Prometheus is one of several shards, each of which may be left without an exporter: then
    // InterferenceExporterAbsent fires only where there was one within the last day.
    sharded: false,

    // Collector placement: a container whose work would take less than this share of its CPU time with its
    // memory elsewhere alerts, if you want that (InterferenceMemoryMisplaced): moving memory is work, and some is
    // where it is by intention. And which targets count as memory that there is; tiers that are only planned
    // (--collector.placement.tier) do not.
    placementAlert: false,
    placementGain: 0.85,
    placementTiers: 'node[0-9]+',

    // A cause is told as what a container waits for from this share of its time on; these causes, of which every busy
    // node has some, from the other one. Both as the collector lost_time has them by default.
    lostShare: 0.05,
    lostShareOften: 0.1,
    lostOften: 'cpu_neighbour|itself|disk',
    // Causes that another node may be without: what node:interference_score counts.
    lostToOthers: 'cpu_neighbour|memory_slow',
    // From which share of throttled periods on they count.
    lostThrottled: 0.05,
    // Shares of its time that a container waits because of its own quota, and because of others on its CPUs: from
    // there on it alerts. kube-prometheus has an alert about throttling (CPUThrottlingHigh), so ours is off.
    ownQuotaAlert: false,
    ownQuotaShare: 0.1,
    cpuNeighbourAlert: true,
    cpuNeighbourShare: 0.2,

    // Where time went on nodes without the collector lost_time, by the kubelet's metrics (Kubernetes 1.36). Without
    // it, render.sh writes those rules and their dashboard apart.
    kubelet: false,
    // Its containers, not pods nor their sandboxes. These series must have the node's label, too.
    kubeletSelector: 'container!="", container!="POD"',

    // The exporter itself.
    tickStaleSeconds: 60,
    pmuRunningShare: 0.8,
    // Shen & Li's estimate is off by 0.03 at most.
    coreLatencyErrorRatio: 0.1,
    // Ticks that were due and not taken, as a share of all.
    ticksMissedShare: 0.1,
    // Containers at work without a baseline, as a share of all that are monitored in the cluster.
    blindShare: 0.2,
    // Nodes that replay a recording by intention, by name.
    replayNodes: 'replay.*',
    samplesLostShare: 0.05,

    // The governor (deploy/governor.md), where there is one: how old the last tick is that it had, more than any interval of
    // the exporter; other programs' writes in 15 minutes; cuts in 10 minutes, in all and of each container; windows in which a
    // protected container is over its limit.
    governorBlindSeconds: 300,
    governorForeignWrites: 3,
    governorForeignWritesEach: 1.5,
    governorCuts: 20,
    governorCutsEach: 5,
    governorOverShare: 0.2,

    // For routes in Alertmanager. `area` is memory for what containers and nodes suffer from, exporter and governor
    // for the health of these programs; `severity` is critical, warning, or info for what nobody can repair in a hurry.
    alertLabels: { component: 'interference' },
    // A label of namespaces that kube-state-metrics exports, such as 'label_team'
    // (--metric-labels-allowlist=namespaces=[team]): alerts about a container then have it, too ('none' where
    // it is not known). '': they have not.
    teamLabel: '',

    // What stands before an alert's name and .md in runbook_url: set it to where you serve runbooks/, such as
    // 'https://wiki.example.org/interference/'. And where your Grafana is, for dashboard_url, without a slash at
    // the end. As they are, they lead nowhere and say so.
    runbookUrlPrefix: 'https://set-runbookUrlPrefix.invalid/dashboards/runbooks/',
    grafanaUrl: 'https://set-grafanaUrl.invalid',

    dashboardTags: ['interference'],
    dashboardRefresh: '30s',
    dashboardPrefix: 'Interference / ',
    // What a rate is taken over where a dashboard asks for counters.
    grafanaIntervalVar: '$__rate_interval',
    // Several clusters in one Prometheus: a variable to choose from. Without it, dashboards show all that is there.
    showMultiCluster: true,
    // The exporter's own pages, from a node's dashboard. Where the label of a node is a name that browsers cannot
    // resolve, '' leaves the links out.
    exporterUrl: 'http://${node}:10066',
    // kubernetes-mixin's dashboard of a pod; '' leaves the link out.
    podDashboardUid: '6581e46e4e5c7ba40a07646395ef7b23',
    // How many containers a graph of the Node dashboard draws: the values of its variable `top`.
    nodeTop: [10, 5, 20, 50],
  },
}
