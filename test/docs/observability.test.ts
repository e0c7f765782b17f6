import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import t from 'tap';
import { parse } from 'yaml';
import { createMetrics } from '../../src/daemon/metrics/metrics.ts';
import { parsePrometheus } from '../daemon/metrics/prometheus-text.ts';

const folder = resolve(import.meta.dirname, '../../docs/observability');
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const { panels }: { panels: readonly Panel[] } = JSON.parse(textOf('dashboard.json'));
const { groups }: { groups: readonly { rules: readonly Rule[] }[] } = parse(textOf('alerts.yaml'));
const rules = groups.flatMap((it) => it.rules);
const expressions = [
  ...panels.flatMap((it) => it.targets.map(({ expr }) => expr)),
  ...rules.map((it) => it.expr),
];

/** Names of metrics and of labels in an expression, and whether it can be read to its end. */
function read(expr: string): { metrics: string[]; labels: string[]; isWhole: boolean } {
  const plain = expr.replaceAll('$__rate_interval', '5m');
  const found = { metrics: [] as string[], labels: [] as string[], isWhole: true };
  parser.parse(plain).iterate({
    enter({ name, from, to, type }) {
      if (type.isError) found.isWhole = false;
      if (name === 'VectorSelector') found.metrics.push(/^\w+/.exec(plain.slice(from, to))?.[0] ?? '');
      if (name === 'LabelName') found.labels.push(plain.slice(from, to));
    },
  });
  return found;
}

t.test('every metric and label that dashboard and alerts name is there', async (t) => {
  const families = parsePrometheus(await createMetrics().text());
  // Prometheus itself says whether a target answers.
  const known = new Set(['up', ...families.keys()]);
  const { familyTexts } = await import('../../src/daemon/metrics/families.ts');
  const labels = new Set([
    'le',
    // The label by which Prometheus tells what it scrapes.
    'job',
    ...Object.values(familyTexts).flatMap((it) => ('labels' in it ? it.labels : [])),
  ]);
  t.ok(expressions.length > 30);
  for (const expr of expressions) {
    const found = read(expr);
    t.ok(found.isWhole, `${expr} is an expression`);
    t.ok(found.metrics.length > 0, expr);
    for (const name of found.metrics) t.ok(known.has(name) || known.has(name.replace(/_bucket$/, '')), name);
    for (const it of found.labels) t.ok(labels.has(it as never), it);
  }
  t.notOk(read('sum(rate(postern_calls_total[5m])').isWhole, 'a mistake would be seen');
});

t.test('dashboard and alerts are whole', async (t) => {
  t.equal(new Set(panels.map((it) => it.title)).size, panels.length);
  t.equal(new Set(rules.map((it) => it.alert)).size, rules.length);
  for (const { alert, for: duration, labels, annotations } of rules) {
    t.match(duration, /^\d+[mh]$/, alert);
    t.match(labels.severity, /^(info|warning|critical)$/, alert);
    t.match(annotations.summary, /\.$/, alert);
  }
});
