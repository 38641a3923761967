// The dashboards that this project writes, in Grafana's own types: a dashboard, and each kind of
// panel with the options that it has. schema.mjs makes a JSON schema of each.
import * as raw from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options as TimeSeries, FieldConfig as TimeSeriesField } from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type { Options as Stat } from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type { Options as Table, FieldConfig as TableField } from '@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
import type { Options as Heatmap, FieldConfig as HeatmapField } from '@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/types.gen';
import type { Options as Trend, FieldConfig as TrendField } from '@grafana/schema/dist/types/raw/composable/trend/panelcfg/x/types.gen';
import type { Options as History, FieldConfig as HistoryField } from '@grafana/schema/dist/types/raw/composable/statushistory/panelcfg/x/types.gen';

// As Grafana's Prometheus data source reads it.
interface Query {
  refId: string;
  datasource: raw.DataSourceRef;
  expr: string;
  legendFormat: string;
  editorMode: 'code';
  range: boolean;
  instant?: boolean;
  format?: 'table' | 'heatmap' | 'time_series';
}
interface Link {
  title: string;
  url: string;
}
interface Field<Custom> extends Omit<raw.FieldConfig, 'custom' | 'links'> {
  unit: string;
  noValue: string;
  custom?: Custom;
  links?: Link[];
}
interface Fields<Custom> extends Omit<raw.FieldConfigSource, 'defaults'> {
  defaults: Field<Custom>;
}
interface Kind<Type, Options, Custom> extends Omit<raw.Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: Type;
  id: number;
  title: string;
  description: string;
  gridPos: raw.GridPos;
  options: Options;
  fieldConfig: Fields<Custom>;
  targets: Query[];
}
export type timeseries = Kind<'timeseries', TimeSeries, TimeSeriesField>;
export type stat = Kind<'stat', Stat, Record<string, never>>;
export type table = Kind<'table', Table, Partial<TableField>>;
export type heatmap = Kind<'heatmap', Heatmap, HeatmapField>;
export type trend = Kind<'trend', Trend, TrendField>;
export type status_history = Kind<'status-history', History, HistoryField>;
export type row = raw.RowPanel;

// As Grafana's Prometheus data source reads it.
interface Annotation extends raw.AnnotationQuery {
  expr: string;
  step: string;
  titleFormat: string;
  textFormat: string;
}
export interface MixinDashboard extends Omit<raw.Dashboard, 'panels' | 'annotations'> {
  annotations: { list: Annotation[] };
  uid: string;
  title: string;
  description: string;
  panels: unknown[];
}
