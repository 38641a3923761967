// Dashboards against Grafana's own types: node schema.mjs DASHBOARD.json...
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';

const here = dirname(fileURLToPath(import.meta.url));
const generator = createGenerator({
  path: join(here, 'panels.ts'),
  tsconfig: join(here, 'tsconfig.json'),
  type: '*',
  expose: 'none', // each panel's Options are called the same
  skipTypeCheck: true,
  additionalProperties: false,
});
const ajv = new Ajv({ strict: false, allErrors: true });
const validators = new Map();
const problems = [];

function check(type, value, where) {
  if (!validators.has(type)) validators.set(type, ajv.compile(generator.createSchema(type)));
  const validate = validators.get(type);
  if (!validate(value))
    for (const e of validate.errors)
      problems.push(`${where}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
}

// An override's properties are free in the schema: so the panel is judged as if all fields had them.
function overridden(panel, properties) {
  const copy = structuredClone(panel);
  for (const { id, value } of properties) {
    const path = id.split('.');
    const last = path.pop();
    let at = copy.fieldConfig.defaults;
    for (const key of path) at = at[key] ??= {};
    at[last] = value;
  }
  return copy;
}

const kinds = new Set(['timeseries', 'stat', 'table', 'heatmap', 'status-history', 'trend', 'row']);
for (const file of process.argv.slice(2)) {
  const dashboard = JSON.parse(readFileSync(file, 'utf8'));
  check('MixinDashboard', dashboard, basename(file));
  for (const panel of dashboard.panels) {
    const where = `${basename(file)}: ${panel.title}`;
    if (!kinds.has(panel.type)) {
      problems.push(`${where}: no kind of panel: ${panel.type}`);
      continue;
    }
    const kind = panel.type.replace('-', '_');
    check(kind, panel, where);
    for (const override of panel.fieldConfig?.overrides ?? [])
      check(kind, overridden(panel, override.properties), `${where}: ${override.matcher.options}`);
  }
}
console.log(problems.join('\n'));
process.exit(problems.length ? 1 : 0);
