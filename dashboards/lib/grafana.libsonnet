// What the dashboards are made of: panels, variables, links, and rows that lay themselves out.
local promql = import 'promql.libsonnet';

function(config) {
  local g = self,
  local q = promql(config),
  local datasource = { type: 'prometheus', uid: '${datasource}' },

  // The dashboards' uids, for links.
  uid:: {
    fleet: 'interference-fleet',
    node: 'interference-node',
    container: 'interference-container',
    persistentMemory: 'interference-pmem',
    kubelet: 'interference-kubelet',
  },

  // Matchers for the variables, outermost first.
  onClusters:: if config.showMultiCluster then '%s=~"$cluster"' % config.clusterLabel else '',
  onNodes::
    std.join(', ', (if config.showMultiCluster then [g.onClusters] else []) + ['%s=~"$node"' % config.nodeLabel]),
  onContainers:: g.onNodes + ', namespace=~"$namespace", pod=~"$pod", container=~"$container"',

  // Queries over the range that fits the dashboard's zoom.
  rate(labels, metric, matchers):: q.rate(labels, metric, config.grafanaIntervalVar, matchers),
  histogram(metric, matchers)::
    q.buckets(g.rate('le', metric + '_bucket', matchers),
              'rate(%s[%s])' % [q.select(metric, matchers), config.grafanaIntervalVar]),

  // Latencies that are added up over readings: their mean, over all NUMA nodes of the node.
  ofReadings(labels, metric, matchers='')::
    q.ratio(
      g.rate(labels, metric, std.join(', ', std.filter(function(m) m != '', [g.onNodes, matchers]))),
      g.rate(q.node, 'interference_memory_attribution_readings_total', g.onNodes),
      'on (%s) group_left ()' % q.node
    ),

  target(expr, legend='', extra={}):: {
    datasource: datasource,
    editorMode: 'code',
    expr: expr,
    legendFormat: if legend == '' then '__auto' else legend,
    range: true,
  } + extra,
  // One value, now; `range` and `instant` are the two ways of asking.
  instant(expr, legend=''):: g.target(expr, legend, { range: false, instant: true }),
  column(expr):: g.target(expr, '', { range: false, instant: true, format: 'table' }),
  buckets(expr):: g.target(expr, '{{le}}', { format: 'heatmap' }),

  steps(list):: {
    mode: 'absolute',
    steps: [{ color: s[0], value: s[1] } for s in list],
  },

  // Width and height of the grid are taken out again by rows().
  local panel(type, title, description, unit, targets, o) = {
    local refs = ['A', 'B', 'C', 'D', 'E', 'F', 'G'],
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    targets: std.mapWithIndex(function(i, t) t { refId: refs[i] }, targets),
    fieldConfig: {
      defaults: {
        unit: unit,
        noValue: if 'noValue' in o then o.noValue else 'no data',
        [if 'decimals' in o then 'decimals']: o.decimals,
        [if 'min' in o then 'min']: o.min,
        [if 'max' in o then 'max']: o.max,
        [if 'links' in o then 'links']: o.links,
        [if 'mappings' in o then 'mappings']: o.mappings,
      },
      overrides: if 'overrides' in o then o.overrides else [],
    },
    [if 'transformations' in o then 'transformations']: o.transformations,
    [if 'maxDataPoints' in o then 'maxDataPoints']: o.maxDataPoints,
    size:: { w: if 'w' in o then o.w else 8, h: if 'h' in o then o.h else 8 },
  },

  timeseries(title, description, unit, targets, o={})::
    panel('timeseries', title, description, unit, targets, { w: 12 } + o) + {
      fieldConfig+: {
        defaults+: {
          // The same name has the same colour in all panels.
          color: { mode: 'palette-classic-by-name' },
          [if 'limits' in o then 'thresholds']: g.steps([[if 'grey' in o then 'gray' else 'transparent', null]] + o.limits),
          custom: {
            drawStyle: 'line',
            lineWidth: 1,
            fillOpacity: if 'stack' in o then 30 else 0,
            showPoints: 'never',
            spanNulls: false,
            [if 'stack' in o then 'stacking']: { mode: 'normal', group: 'A' },
            [if 'logarithmic' in o then 'scaleDistribution']: { type: 'log', log: 2 },
            [if 'limits' in o then 'thresholdsStyle']: { mode: if 'grey' in o then 'dashed+area' else 'dashed' },
          },
        },
      },
      options: {
        legend: {
          displayMode: 'table',
          placement: 'bottom',
          showLegend: true,
          calcs: ['mean', 'max'],
          sortBy: 'Max',
          sortDesc: true,
        },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
    },

  // With `named`, a legend: which one it is stands beside the value.
  stat(title, description, unit, expr, o={})::
    local now = 'now' in o || 'named' in o;
    panel('stat',
          title,
          description,
          unit,
          [(if now then g.instant else g.target)(expr, if 'legend' in o then o.legend else if 'named' in o then o.named else '')],
          { w: 4, h: 4 } + o) + {
      fieldConfig+: {
        defaults+: {
          color: { mode: 'thresholds' },
          thresholds: g.steps(if 'steps' in o then o.steps else [['text', null]]),
        },
      },
      options: {
        colorMode: 'value',
        graphMode: if now then 'none' else 'area',
        justifyMode: 'auto',
        orientation: 'auto',
        percentChangeColorMode: 'standard',
        showPercentChange: false,
        textMode: if 'name' in o then 'name' else if 'named' in o then 'value_and_name' else 'auto',
        wideLayout: true,
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      },
    },

  // Columns: of the queries' values, in their order, named and with units; labels come before them. `widths`, of
  // labels and columns, in pixels. `renamed`: a label that only some have, in a column behind the others. `noValue` is what an empty table says; with `empty`, empty cells say that.
  table(title, description, columns, labels, o={}):: panel(
    'table',
    title,
    description,
    'short',
    [g.column(c.expr) for c in columns],
    {
      w: 24,
      overrides: [
                   {
                     matcher: { id: 'byName', options: c.name },
                     properties: [{ id: 'unit', value: c.unit }]
                                 + (if 'steps' in c then [
                                      { id: 'thresholds', value: g.steps(c.steps) },
                                      { id: 'custom.cellOptions', value: { type: 'color-text' } },
                                    ] else [])
                                 + (if 'decimals' in c then [{ id: 'decimals', value: c.decimals }] else [])
                                 + (if 'empty' in o then [{ id: 'noValue', value: o.empty }] else []),
                   }
                   for c in columns
                 ] + (if 'linked' in o then [
                        { matcher: { id: 'byName', options: o.linked[0] }, properties: [{ id: 'links', value: [o.linked[1]] }] },
                      ] else [])
                 + (if 'also' in o then o.also else [])
                 + (if 'widths' in o then [g.byName(name, { 'custom.width': o.widths[name] }) for name in std.objectFields(o.widths)] else []),
      transformations: [
        { id: 'merge', options: {} },
        {
          id: 'organize',
          options: {
            local value(i) = if std.length(columns) == 1 then 'Value' else 'Value #' + ['A', 'B', 'C', 'D', 'E', 'F', 'G'][i],
            excludeByName: { Time: true } + { [l]: true for l in (if 'hidden' in o then o.hidden else []) },
            indexByName: { [labels[i]]: i for i in std.range(0, std.length(labels) - 1) }
                         + { [value(i)]: std.length(labels) + i for i in std.range(0, std.length(columns) - 1) },
            renameByName: { [value(i)]: columns[i].name for i in std.range(0, std.length(columns) - 1) }
                          + (if 'renamed' in o then o.renamed else {}),
          },
        },
      ],
    } + o
  ) + {
    options: {
      cellHeight: 'sm',
      frameIndex: 0,
      showHeader: true,
      sortBy: [{ displayName: columns[0].name, desc: true }],
    },
  },

  // Lines over a number that is not time, now: x and ys have a name and a query, x also a unit. The queries' points
  // have the same labels; points at the same x are one. Lines of `points` are drawn as such.
  curve(title, description, unit, x, ys, o={})::
    local refs = ['A', 'B', 'C', 'D', 'E'];
    local value(i) = 'Value #' + refs[i];
    local grouped(i) = value(i) + ' (max)';
    local indexes = std.range(1, std.length(ys));
    panel(
      'trend',
      title,
      description,
      unit,
      [g.column(q.expr) for q in [x] + ys],
      {
        overrides: [g.byName(x.name, { unit: x.unit, decimals: 0 })] + [
          g.byName(y.name, { 'custom.drawStyle': 'points', 'custom.showPoints': 'always', 'custom.pointSize': 8 })
          for y in ys
          if 'points' in y
        ],
        transformations: [
          { id: 'merge', options: {} },
          // The axis wants ascending numbers, each once.
          {
            id: 'groupBy',
            options: {
              fields: { [value(0)]: { operation: 'groupby', aggregations: [] } }
                      + { [value(i)]: { operation: 'aggregate', aggregations: ['max'] } for i in indexes },
            },
          },
          { id: 'sortBy', options: { fields: {}, sort: [{ field: value(0), desc: false }] } },
          {
            id: 'organize',
            options: {
              excludeByName: {},
              indexByName: {},
              renameByName: { [value(0)]: x.name } + { [grouped(i)]: ys[i - 1].name for i in indexes },
            },
          },
        ],
      } + o
    ) + {
      fieldConfig+: {
        defaults+: {
          color: { mode: 'palette-classic-by-name' },
          custom: { drawStyle: 'line', lineWidth: 1, fillOpacity: 0, showPoints: 'never', spanNulls: true },
        },
      },
      options: {
        legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
        tooltip: { mode: 'multi', sort: 'none' },
        xField: x.name,
      },
    },

  heatmap(title, description, expr, o={})::
    panel('heatmap', title, description, 's', [g.buckets(expr)], { w: 12, maxDataPoints: 120 } + o) + {
      fieldConfig+: { defaults+: { custom: { scaleDistribution: { type: 'linear' } } } },
      options: {
        calculate: false,
        cellGap: 1,
        color: {
          mode: 'scheme',
          scheme: 'Oranges',
          fill: 'dark-orange',
          reverse: false,
          exponent: 0.5,
          steps: 64,
          scale: 'exponential',
        },
        exemplars: { color: 'rgba(255,0,255,0.7)' },
        filterValues: { le: 1e-9 },
        legend: { show: true },
        rowsFrame: { layout: 'auto' },
        showValue: 'never',
        tooltip: { mode: 'single', yHistogram: true },
        yAxis: { axisPlacement: 'left', unit: 's' },
      },
    },

  // A row for each series, coloured by its value: from blue over yellow to red, which the colour-blind tell apart.
  history(title, description, unit, target, o={})::
    panel('status-history', title, description, unit, [target], { w: 12, maxDataPoints: 100 } + o) + {
      fieldConfig+: {
        defaults+: {
          color: { mode: 'continuous-BlYlRd' },
          custom: { fillOpacity: 80, lineWidth: 0 },
        },
      },
      options: {
        legend: { showLegend: false, displayMode: 'list', placement: 'bottom', calcs: [] },
        rowHeight: 0.9,
        showValue: 'never',
        tooltip: { mode: 'single', sort: 'none' },
      },
    },

  // How far to believe a slowdown; the figures are those of RESULTS-slowdown.md.
  modelsError::
    if config.slowdownModel == 'passive'
    then 'On simulated machines this model is off by 11.4 %% on average, and by 55 %% at worst: below %g (grey) it says nothing.' % config.slowdownNoise
    else 'Below %g (grey) it says nothing.' % config.slowdownNoise,
  slowdownLimits:: [['transparent', config.slowdownNoise], ['red', config.slowdownBound]],

  // One series looks different: byName(legend, {property: value}).
  byName(name, properties):: {
    matcher: { id: 'byName', options: name },
    properties: [{ id: id, value: properties[id] } for id in std.objectFields(properties)],
  },
  // What excess nobody is named for looks the same on all dashboards.
  causes:: [
    g.byName('unknown', { color: { mode: 'fixed', fixedColor: 'gray' } }),
    g.byName('group', { color: { mode: 'fixed', fixedColor: 'purple' } }),
    g.byName('host', { color: { mode: 'fixed', fixedColor: 'blue' } }),
  ],

  // Why a container waits: in a word, what is to be done about it, and the same colour on all dashboards.
  local reasons = [
    ['own_quota', 'its own CPU limit', 'its own CPU limit: raise the limit, or drop it; nobody else is to blame', 'orange'],
    ['cpu_neighbour', 'others on its CPUs', 'others on its CPUs: move one of them, raise its CPU request, or give it CPUs of its own', 'red'],
    ['itself', 'its own tasks', 'its own tasks: give it more CPUs, or fewer threads', 'yellow'],
    ['hypervisor', 'the hypervisor', 'the hypervisor: take another kind of instance, or a dedicated host', 'dark-purple'],
    ['own_memory_limit', 'its own memory limit', 'its own memory limit: raise the limit', 'light-orange'],
    ['memory_full', "the node's full memory", "the node's full memory: evict something, or add memory", 'dark-blue'],
    ['disk', 'disks', 'disks: look at what it reads and writes, and at who else uses them', 'semi-dark-green'],
    ['memory_slow', 'slow memory', 'slow memory: see who makes it slow', 'blue'],
  ],
  waitsInWords:: [
    g.byName(r[0], { displayName: r[1], color: { mode: 'fixed', fixedColor: r[3] } })
    for r in reasons
  ],
  waitsAndRemedies:: [g.byName(r[0], { displayName: r[2] }) for r in reasons],
  // A table's column of the label `cause`.
  waitsFor:: {
    renamed: { cause: 'Waits for' },
    also: [g.byName('Waits for', {
      noValue: 'nothing that this node can see',
      mappings: [{
        type: 'value',
        options: { [reasons[i][0]]: { index: i, text: reasons[i][2] } for i in std.range(0, std.length(reasons) - 1) },
      }],
    })],
  },
  dashed(name, color):: g.byName(name, {
    'custom.lineStyle': { fill: 'dash', dash: [8, 6] },
    color: { mode: 'fixed', fixedColor: color },
  }),

  // Links to the dashboard of one thing, from a field's labels or a table's row.
  local link(title, uid, values) = {
    title: title,
    url: '/d/%s?${datasource:queryparam}&${__url_time_range}' % uid
         + std.join('', ['&var-%s=${%s}' % [v[0], v[1]] for v in values]),
  },
  local nodeValues(from) =
    (if config.showMultiCluster then [['cluster', from + config.clusterLabel]] else [])
    + [['node', from + config.nodeLabel]],
  local containerValues(from) = nodeValues(from) + [[l, from + l] for l in ['namespace', 'pod', 'container']],
  toNode:: link('Node', g.uid.node, nodeValues('__field.labels.')),
  toContainer:: link('Container', g.uid.container, containerValues('__field.labels.')),
  rowToNode:: link('Node', g.uid.node, nodeValues('__data.fields.')),
  rowToContainer:: link('Container', g.uid.container, containerValues('__data.fields.')),

  // Labels as variables; a variable's values depend on those before it.
  local variable(name, label, metric, matchers, o) = {
    name: name,
    label: o.label,
    type: 'query',
    datasource: datasource,
    query: { query: 'label_values(%s, %s)' % [o.selected(metric, matchers), label], refId: name },
    refresh: 2,
    sort: 1,
  } + (if o.many then { multi: true } else {}) + (
    if o.all then {
      includeAll: true,
      // Also what has no such label: hosts without Kubernetes, a Prometheus of one cluster.
      allValue: '.*',
      current: { text: 'All', value: '$__all' },
    } else {}
  ),
  // One node where counters are asked for as they are: for all nodes that is too much.
  // `namespaces`: of containers, nothing but the namespace. `info`: a series that has all these labels, where there
  // may be no exporter.
  variables(nodes=true, oneNode=false, namespaces=false, containers=false, oneContainer=false, info='')::
    local nodeInfo = if info == '' then 'interference_exporter_build_info' else info;
    local containerInfo = if info == '' then 'interference_container_info' else info;
    local cluster = config.clusterLabel;
    local node = config.nodeLabel;
    // What is recorded has no more labels than the rule's.
    local selected = if info == '' then q.select else function(metric, matchers) '%s{%s}' % [metric, matchers];
    local several = { many: true, all: true, selected: selected };
    local one = { many: false, all: false, selected: selected };
    local container = if oneContainer then one else several;
    [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1 },
    ] + (if config.showMultiCluster
         then [variable('cluster', cluster, nodeInfo, '', { label: 'Cluster' } + several)]
         else []) + (
      if nodes then [
        variable('node', node, nodeInfo, g.onClusters, { label: 'Node' } + (if oneNode then one else several)),
      ] else []
    ) + (
      if containers || namespaces
      then [variable('namespace', 'namespace', containerInfo, g.onNodes, { label: 'Namespace' } + several)]
      else []
    ) + (if containers then [
           variable('pod', 'pod', containerInfo, g.onNodes + ', namespace=~"$namespace"', { label: 'Pod' } + container),
           variable('container',
                    'container',
                    containerInfo,
                    g.onNodes + ', namespace=~"$namespace", pod=~"$pod"',
                    { label: 'Container' } + container),
         ] else []),

  // How many lines a graph draws.
  top:: {
    name: 'top',
    label: 'Lines',
    type: 'custom',
    query: std.join(',', [std.toString(n) for n in config.nodeTop]),
    current: { text: std.toString(config.nodeTop[0]), value: std.toString(config.nodeTop[0]) },
    options: [
      { text: std.toString(n), value: std.toString(n), selected: n == config.nodeTop[0] }
      for n in config.nodeTop
    ],
  },

  // Rows of panels, from left to right and wrapped at 24 columns.
  rows(list)::
    local place(state, panel) =
      local w = panel.size.w;
      local h = panel.size.h;
      local wrap = state.x + w > 24;
      local x = if wrap then 0 else state.x;
      local y = if wrap then state.y + state.h else state.y;
      {
        x: x + w,
        y: y,
        h: if wrap then h else std.max(state.h, h),
        panels: state.panels + [panel { gridPos: { x: x, y: y, w: w, h: h } }],
      };
    local row(state, r) =
      local y = state.y + state.h;
      local head = {
        type: 'row',
        title: r[0],
        collapsed: false,
        panels: [],
        gridPos: { x: 0, y: y, w: 24, h: 1 },
      };
      std.foldl(place, r[1], { x: 0, y: y + 1, h: 0, panels: state.panels + [head] });
    local placed = std.foldl(row, list, { x: 0, y: 0, h: 0, panels: [] }).panels;
    std.mapWithIndex(function(i, p) p { id: i + 1 }, placed),

  // What happened: as lines through all graphs of a dashboard.
  annotation(name, color, expr, title, text):: {
    name: name,
    datasource: datasource,
    enable: true,
    hide: false,
    iconColor: color,
    expr: expr,
    step: '60s',
    titleFormat: title,
    textFormat: text,
  },
  alerts(names, matchers)::
    g.annotation(
      'Alerts',
      'orange',
      'ALERTS{%s}' % std.join(', ', std.filter(function(m) m != '', ['alertname=~"%s"' % names, 'alertstate="firing"', matchers])),
      '{{alertname}}',
      '{{%s}} {{namespace}} {{pod}} {{container}}' % config.nodeLabel
    ),
  // Containers that were not there two minutes ago, on a node that was.
  starts(matchers)::
    local info = q.select('interference_container_info', matchers);
    local there = 'count by (%s) (%s' % [q.container, info];
    g.annotation(
      'Container starts',
      'purple',
      '(\n  %s)\n  unless\n  %s offset 2m)\n)\nand on (%s)\n%s offset 2m' % [
        there,
        there,
        q.node,
        q.select('interference_exporter_build_info', g.onNodes),
      ],
      'started',
      '{{namespace}}/{{pod}}/{{container}}'
    ),

  // Links that leave the dashboards.
  outwards(title, url):: {
    type: 'link',
    title: title,
    url: url,
    targetBlank: true,
    icon: 'external link',
    tooltip: url,
    asDropdown: false,
    includeVars: false,
    keepTime: false,
    tags: [],
  },
  exporterLinks:: if config.exporterUrl == '' then [] else [
    g.outwards('Live page', config.exporterUrl + '/'),
    g.outwards('Status', config.exporterUrl + '/api/v1/status'),
  ],
  podLinks:: if config.podDashboardUid == '' then [] else [
    g.outwards('Pod (kubernetes-mixin)', '/d/%s?var-namespace=$namespace&var-pod=$pod' % config.podDashboardUid)
    + { keepTime: true },
  ],

  dashboard(uid, title, description, variables, rows, annotations=[], links=[]):: {
    uid: uid,
    title: config.dashboardPrefix + title,
    description: description,
    tags: config.dashboardTags,
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: config.dashboardRefresh,
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    templating: { list: variables },
    annotations: { list: annotations },
    links: links + [g.outwards('Runbooks', config.runbookUrlPrefix + 'README.md')] + [{
      type: 'dashboards',
      title: 'Interference',
      tags: config.dashboardTags,
      asDropdown: false,
      includeVars: true,
      keepTime: true,
      targetBlank: false,
      icon: 'external link',
      tooltip: '',
    }],
    panels: g.rows(rows),
  },
}
