// PromQL against the metrics that exist: node promql.mjs < JSON, as tests/check/test_dashboards.py
// writes it: {metrics: {name: {type, labels}}, rules: [{record, expr}], queries: [{where, expr,
// uses}]}. `uses` are labels that must be left in the result.
//
// Each expression's labels are inferred from its metrics': a name that does not exist, a label that a
// metric does not have or that was aggregated away, a join of two sides with different labels, a
// counter without rate() or a gauge with it is a problem. Rules add to the metrics in their order; a name that two rules record has the same labels in both.
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';

const input = JSON.parse(readFileSync(0, 'utf8'));
const metrics = new Map(Object.entries(input.metrics));
const problems = [];

const COUNTS = new Set(['rate', 'increase', 'irate']);
// Of a counter as it is, since its program's start: for what must not happen at all.
const EVER = new Set(['last_over_time']);
const RANGES = new Set(['avg_over_time', 'quantile_over_time', 'count_over_time', 'max_over_time', 'min_over_time',
  'sum_over_time', 'resets']);
const SAME = new Set(['sort_desc', 'sort', 'round', 'clamp_min', 'clamp_max']);
const SCALARS = new Set(['time', 'scalar']);
const SETS = new Set(['And', 'Or', 'Unless']);
const COMPARISONS = new Set(['Eql', 'Eqlc', 'Neq', 'Gtr', 'Lss', 'Gte', 'Lte']);

const list = (set) => `{${[...set].sort().join(', ')}}`;
const same = (a, b) => a.size === b.size && [...a].every((x) => b.has(x));
const children = (node) => {
  const all = [];
  for (let c = node.firstChild; c; c = c.nextSibling) all.push(c);
  return all;
};
const child = (node, name) => children(node).find((c) => c.name === name);
const isOperator = (c) => c.name === 'MatchingModifierClause' || c.name === 'BoolModifier';

class Query {
  constructor(where, text) {
    this.where = where;
    this.text = text;
  }
  problem(what, node) {
    const at = node ? `: ${this.of(node).replace(/\s+/g, ' ').slice(0, 120)}` : '';
    problems.push(`${this.where}: ${what}${at}`);
  }
  of(node) {
    return this.text.slice(node.from, node.to);
  }
  names(node) {
    return children(node).filter((c) => c.name === 'LabelName').map((c) => this.of(c));
  }

  // The labels of an expression's result; null for a number.
  labels(node, counted = false) {
    const parts = children(node);
    switch (node.name) {
      case 'PromQL':
      case 'ParenExpr':
      case 'StepInvariantExpr':
      case 'OffsetExpr':
      case 'SubqueryExpr':
      case 'MatrixSelector':
      case 'UnaryExpr':
        return this.labels(parts.find((c) => c.name !== 'Not' && c.name !== 'Sub'), counted);
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return null;
      case 'VectorSelector':
        return this.selector(node, counted);
      case 'FunctionCall':
        return this.call(node);
      case 'AggregateExpr':
        return this.aggregate(node);
      case 'BinaryExpr':
        return this.binary(node);
      default:
        this.problem(`what is ${node.name}?`, node);
        return new Set();
    }
  }

  selector(node, counted) {
    const name = this.of(child(node, 'Identifier'));
    const metric = metrics.get(name);
    if (!metric) {
      this.problem(`no such metric: ${name}`);
      return new Set();
    }
    if ((metric.type === 'counter') !== counted)
      this.problem(counted ? 'the rate of a gauge, or all of it' : 'a counter as it is', node);
    const matchers = child(node, 'LabelMatchers');
    for (const matcher of matchers ? children(matchers) : [])
      for (const label of this.names(matcher))
        if (!metric.labels.includes(label)) this.problem(`${name} has no label ${label}`);
    return new Set(metric.labels);
  }

  call(node) {
    const name = this.of(child(node, 'FunctionIdentifier'));
    const args = children(child(node, 'FunctionCallBody') ?? node).filter((c) => c.name !== 'FunctionIdentifier');
    const found = args.map((a) => this.labels(a, COUNTS.has(name) || EVER.has(name)));
    if (SCALARS.has(name)) return null;
    if (name === 'label_replace') return new Set([...found[0], JSON.parse(this.of(args[1]))]);
    if (name === 'vector' || name === 'absent') return new Set();
    if (!COUNTS.has(name) && !EVER.has(name) && !RANGES.has(name) && !SAME.has(name)) this.problem(`${name}() is not known to this checker`);
    return found.find((f) => f !== null) ?? null;
  }

  aggregate(node) {
    const operator = this.of(child(node, 'AggregateOp'));
    const args = children(child(node, 'FunctionCallBody'));
    const inside = this.labels(args.at(-1)) ?? new Set();
    const modifier = child(node, 'AggregateModifier');
    if (!modifier) return operator === 'topk' || operator === 'bottomk' ? inside : new Set();
    if (!child(modifier, 'By')) this.problem('aggregate by, not without: labels that come later stay out', node);
    const by = this.names(child(modifier, 'GroupingLabels'));
    for (const label of by)
      if (!inside.has(label)) this.problem(`aggregates by ${label}, which is not there`, node);
    return operator === 'topk' || operator === 'bottomk' ? inside : new Set(by);
  }

  binary(node) {
    const parts = children(node);
    const left = this.labels(parts[0]);
    const right = this.labels(parts.at(-1));
    const operator = parts.slice(1, -1).find((c) => !isOperator(c)).name;
    if (left === null || right === null) return left ?? right;
    const matching = child(node, 'MatchingModifierClause');
    const groups = matching ? children(matching).filter((c) => c.name === 'GroupingLabels') : [];
    if (matching && child(matching, 'Ignoring')) this.problem('match on, not ignoring', node);
    if (!matching) {
      if (!same(left, right)) this.problem(`two sides with different labels, ${list(left)} and ${list(right)}`, node);
      return left;
    }
    const on = this.names(groups[0]);
    for (const label of on)
      for (const side of [left, right])
        if (!side.has(label)) this.problem(`matches on ${label}, which one side does not have`, node);
    if (operator === 'Or') return new Set([...left, ...right]);
    if (SETS.has(operator)) return left;
    // One to many: the many's labels, and the named ones of the one.
    const many = child(matching, 'GroupLeft') ? [left, right] : child(matching, 'GroupRight') ? [right, left] : null;
    if (!many) {
      for (const side of [left, right])
        if (!COMPARISONS.has(operator) && !same(side, new Set(on)))
          this.problem(`one to one, but a side has ${list(side)}`, node);
      return new Set(on);
    }
    // A label that it gives to the many has one value for each of them: nobody would ask for it otherwise.
    const given = groups[1] ? this.names(groups[1]) : [];
    for (const label of given)
      if (!many[1].has(label)) this.problem(`gives ${label}, which the one side does not have`, node);
    const ones = new Set([...many[1]].filter((label) => on.includes(label) || !given.includes(label)));
    if (!same(ones, new Set(on))) this.problem(`the one side has ${list(many[1])}: not one for each`, node);
    return new Set([...many[0], ...given]);
  }
}

function infer(where, expr) {
  const tree = parser.parse(expr);
  let broken = null;
  tree.iterate({ enter: (n) => void (n.type.isError && (broken ??= n.from)) });
  const query = new Query(where, expr);
  if (broken !== null) {
    query.problem(`does not parse at "${expr.slice(broken, broken + 30)}"`);
    return new Set();
  }
  return query.labels(tree.topNode) ?? new Set();
}

for (const { record, expr } of input.rules) {
  // A rule may read what it recorded last, with the labels that it then has: of those, any that it names, at first.
  if (expr.includes(record)) {
    const known = problems.length;
    metrics.set(record, { type: 'gauge', labels: expr.match(/\w+/g) });
    metrics.set(record, { type: 'gauge', labels: [...infer(record, expr)] });
    problems.length = known;
  }
  const labels = infer(record, expr);
  const before = metrics.get(record);
  if (before && !same(new Set(before.labels), labels)) problems.push(`${record}: recorded with ${list(before.labels)} and ${list(labels)}`);
  metrics.set(record, { type: 'gauge', labels: [...labels] });
}
for (const { where, expr, uses } of input.queries) {
  const labels = infer(where, expr);
  for (const label of uses) if (!labels.has(label)) problems.push(`${where}: no label ${label} in the result, only ${list(labels)}`);
}
if (problems.length) console.log(problems.join('\n'));
process.exit(problems.length ? 1 : 0);
