// One dashboard as Grafana's components show it; window.DASHBOARD is what make.py queried.
import '@fontsource/inter/400.css';
import '@fontsource/inter/500.css';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { of } from 'rxjs';
import { interpolateOranges } from 'd3-scale-chromatic';
import {
  FieldType, ThemeContext, createTheme, dateTime, getDisplayProcessor, getFieldDisplayName, getValueFormat,
  formattedValueToString, standardTransformers, toDataFrame,
} from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, PortalContainer, TimeSeries, UPlotChart, UPlotConfigBuilder } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';

const { title, caption, variables, panels, from, to, width } = window.DASHBOARD;
const theme = createTheme({ colors: { mode: 'dark' } });
const CELL = 30, GAP = 8, ZONE = 'utc';
const range = { from: dateTime(from), to: dateTime(to), raw: { from: dateTime(from), to: dateTime(to) } };

// --- fields, as Grafana prepares them ---

function set(object, path, value) {
  const keys = path.split('.');
  const last = keys.pop();
  for (const key of keys) object = object[key] ??= {};
  object[last] = value;
}

function configure(frames, panel) {
  let index = 0;
  for (const frame of frames) {
    for (const field of frame.fields) {
      const name = getFieldDisplayName(field, frame, frames);
      field.config = { ...structuredClone(panel.fieldConfig.defaults), ...field.config };
      field.config.custom = { ...field.config.custom };
      for (const { matcher, properties } of panel.fieldConfig.overrides)
        if (matcher.options === name) for (const { id, value } of properties) set(field.config, id, value);
      if (field.type === FieldType.number) field.state = { ...field.state, seriesIndex: index++ };
      if (field.type !== FieldType.time) field.display = getDisplayProcessor({ field, theme, timeZone: ZONE });
    }
  }
  return frames;
}

const seriesFrames = (panel) => configure(panel.series.map(({ name, labels, times, values }) => toDataFrame({
  fields: [
    { name: 'time', type: FieldType.time, values: times, config: {} },
    { name: 'value', type: FieldType.number, values, labels, config: { displayNameFromDS: name } },
  ],
})), panel);

function transformed(panel) {
  let frames = panel.tables.map(({ refId, columns }) => toDataFrame({
    refId, fields: columns.map((c) => ({ ...c, config: {} })),
  }));
  const operators = { merge: standardTransformers.mergeTransformer, organize: standardTransformers.organizeFieldsTransformer };
  for (const { id, options } of panel.transformations)
    of(frames).pipe(operators[id].operator(options, { interpolate: (s) => s })).subscribe((result) => (frames = result));
  return configure(frames, panel)[0];
}

// --- panels ---

const Nothing = ({ panel, height }) => (
  <div style={{ height, display: 'flex', alignItems: 'center', justifyContent: 'center', color: theme.colors.text.secondary }}>
    {panel.fieldConfig.defaults.noValue}
  </div>
);

function Graph({ panel, width, height }) {
  const frames = seriesFrames(panel);
  return <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone={ZONE}
    legend={panel.options.legend} options={{}} />;
}

function Stat({ panel, width, height }) {
  const [frame] = panel.series.length ? seriesFrames(panel) : [null];
  const { colorMode, graphMode, textMode, justifyMode } = panel.options;
  const common = { theme, width, height, colorMode, justifyMode };
  if (!frame) return <BigValue {...common} graphMode="none" value={{ text: panel.fieldConfig.defaults.noValue, numeric: NaN }} />;
  const field = frame.fields[1];
  const last = [...field.values].reverse().find((v) => v !== null);
  const value = { ...field.display(last), title: textMode === 'name' || textMode === 'value_and_name' ? panel.series[0].name : undefined };
  return <BigValue {...common} graphMode={graphMode} textMode={textMode} value={value}
    sparkline={graphMode === 'none' ? undefined : { y: field, x: frame.fields[0], timeRange: range }} />;
}

const Rows = ({ panel, width, height }) =>
  <TableNG data={transformed(panel)} width={width} height={height} sortBy={panel.options.sortBy}
    cellHeight={panel.options.cellHeight} enableVirtualization={false} timeRange={range} />;

// Heat map and status history are no part of @grafana/ui: cells on its axes.
function Cells({ width, height, times, rows, labels, everyOther, color, labelWidth }) {
  const builder = new UPlotConfigBuilder(ZONE);
  const count = rows.length;
  builder.addScale({ scaleKey: 'x', isTime: true, orientation: 0, direction: 1, range: [from, to] });
  builder.addScale({ scaleKey: 'y', isTime: false, orientation: 1, direction: 1, range: [0, count] });
  builder.addAxis({ scaleKey: 'x', isTime: true, placement: 'bottom', timeZone: ZONE, theme, grid: { show: false } });
  builder.addAxis({
    scaleKey: 'y', placement: 'left', theme, size: labelWidth, grid: { show: false }, ticks: { show: false },
    splits: () => labels.map((l) => l.at).filter((_, i) => !everyOther || i % 2 === 0),
    values: (u, splits) => splits.map((at) => labels.find((l) => l.at === at).text),
  });
  builder.addSeries({ scaleKey: 'y', pathBuilder: () => null, pointsBuilder: () => false, theme, lineColor: 'transparent' });
  builder.setCursor({ show: false });
  builder.addHook('draw', (u) => {
    const step = times[1] - times[0];
    rows.forEach((row, r) => row.forEach((value, i) => {
      const fill = color(value, r);
      if (!fill) return;
      const x = u.valToPos(times[i], 'x', true), x2 = u.valToPos(times[i] + step, 'x', true);
      const y = u.valToPos(r + 1, 'y', true), y2 = u.valToPos(r, 'y', true);
      u.ctx.fillStyle = fill;
      u.ctx.fillRect(x, y + 1, Math.max(1, x2 - x - 1), y2 - y - 2);
    }));
  });
  return <UPlotChart config={builder} data={[times, times.map(() => 0)]} width={width} height={height} />;
}

function Heatmap({ panel, width, height }) {
  const { times, edges, rows } = panel.heatmap;
  const format = (v) => formattedValueToString(getValueFormat('s')(v, 0));
  const most = Math.max(...rows.flat());
  const { exponent } = panel.options.color;
  return <Cells width={width} height={height} times={times} rows={rows} labelWidth={56} everyOther
    labels={edges.map((edge, i) => ({ at: i + 1, text: edge === null ? '+Inf' : format(edge) }))}
    color={(v) => v > 0 && interpolateOranges(1 - (v / most) ** exponent * 0.85)} />;
}

function History({ panel, width, height }) {
  const frames = seriesFrames(panel);
  const fields = frames.map((f) => f.fields[1]);
  const names = fields.map((f, i) => getFieldDisplayName(f, frames[i], frames));
  return <Cells width={width} height={height} times={panel.series[0].times} rows={fields.map((f) => f.values)}
    labelWidth={Math.max(...names.map((n) => n.length)) * 7 + 16}
    labels={names.map((text, i) => ({ at: i + 0.5, text }))}
    color={(v, r) => v !== null && fields[r].display(v).color} />;
}

const kinds = { timeseries: Graph, stat: Stat, table: Rows, heatmap: Heatmap, 'status-history': History };

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const column = (width - GAP) / 24;
  const place = {
    position: 'absolute', left: GAP + x * column, top: y * (CELL + GAP),
    width: w * column - GAP, height: h * (CELL + GAP) - GAP,
  };
  if (panel.type === 'row')
    return <div style={{ ...place, ...theme.typography.h6, display: 'flex', alignItems: 'center' }}>⌄&nbsp; {panel.title}</div>;
  const Kind = panel.empty && panel.type !== 'stat' ? Nothing : kinds[panel.type];
  return (
    <div style={place}>
      <PanelChrome title={panel.title} description={panel.description} width={place.width} height={place.height}
        padding={panel.type === 'table' ? 'none' : 'md'}>
        {(w, h) => <Kind panel={panel} width={w} height={h} />}
      </PanelChrome>
    </div>
  );
}

const bottom = Math.max(...panels.map((p) => p.gridPos.y + p.gridPos.h)) * (CELL + GAP);
createRoot(document.getElementById('page')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <PortalContainer />
    <div style={{ width, background: theme.colors.background.canvas, color: theme.colors.text.primary }}>
      <div style={{ padding: '10px 12px 0', ...theme.typography.h4 }}>{title}</div>
      <div style={{ padding: '2px 12px 6px', color: theme.colors.warning.text }}>{caption}</div>
      <div style={{ padding: '0 12px 6px', display: 'flex', gap: 8 }}>
        {variables.map(([name, value]) => (
          <span key={name} style={{ border: `1px solid ${theme.colors.border.medium}`, borderRadius: 2, padding: '3px 8px' }}>
            <span style={{ color: theme.colors.text.secondary }}>{name}</span>&nbsp; {value}
          </span>
        ))}
      </div>
      <div style={{ position: 'relative', height: bottom }}>
        {panels.map((panel) => <Panel key={panel.id} panel={panel} />)}
      </div>
    </div>
  </ThemeContext.Provider>,
);
