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
    jobSelector: 'job=~".*interference.*"',

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

    // A container is slowed down: times slower than alone, where no bound of its own is recorded.
    // The model is pinned: models differ in their error, and their maximum means nothing.
    slowdownModel: 'passive',
    slowdownBound: 1.5,
    // `passive` may warn; a model that has the paper's error may page.
    slowdownSeverity: if self.slowdownModel == 'passive' then 'warning' else 'critical',

    // Mean DRAM read latency inside a socket's controllers; idle ones take 50 to 60 ns.
    imcLatencySeconds: 120e-9,
    // AMD: mean latency of the misses of a socket's L3s, times its own calm one (the 10th percentile of
    // the last day). CPUs differ too much for a limit in seconds.
    l3LatencyFactor: 1.5,

    // Schmidt 2022: write bandwidth of a DIMM peaks at one to four threads.
    nvmmWritersPerDimm: 4,
    // The media writes 256 bytes at a time. One instruction stores at most 64, so full granules are
    // made of consecutive full-line stores; the mean size tells those from scattered small ones.
    nvmmGranuleBytes: 256,
    nvmmStoreBytes: 32,
    nvmmStoreBytesPerSecond: 10e6,

    // Shares of the calm latency of a NUMA node's memory (the 10th percentile of its last hour): what one
    // container adds to it, and what is added to it without one container to name.
    aggressorShare: 0.1,
    unattributedShare: 0.15,
    // Below this share of a NUMA node's CPUs in use, an excess is nobody's: processors clock caches and memory
    // controllers lower when they are idle.
    idleShare: 0.05,

    // The exporter itself.
    tickStaleSeconds: 60,
    pmuRunningShare: 0.8,
    // Shen & Li's estimate is off by 0.03 at most.
    coreLatencyErrorRatio: 0.25,
    samplesLostShare: 0.05,

    // What stands before an alert's name and .md in runbook_url. As it is, the runbook's place in the
    // repository; set it to where you serve them: 'https://wiki.example.org/interference/'.
    runbookUrlPrefix: 'dashboards/runbooks/',

    dashboardTags: ['interference'],
    dashboardRefresh: '30s',
    dashboardPrefix: 'Interference / ',
  },
}
