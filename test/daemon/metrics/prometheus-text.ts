/*
 * A strict reader of Prometheus' text format 0.0.4: every family has its help and type before its lines, stands once and in one piece,
 * no line stands twice, and histograms are cumulative and whole. Throws at the first mistake.
 */

export interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly lines: readonly ParsedLine[];
}

export interface ParsedLine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const metricLine =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?(?:\d[\d.]*(?:e[+-]?\d+)?|Inf)|\+Inf|NaN|Nan)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

export function parsePrometheus(text: string): ReadonlyMap<string, ParsedFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, ParsedFamily & { lines: ParsedLine[] }>();
  const seen = new Set<string>();
  let help: readonly [string, string] | undefined;
  let current: (ParsedFamily & { lines: ParsedLine[] }) | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') help = [name, rest];
    else if (kind === 'TYPE') {
      if (help?.[0] !== name) throw new Error(`${name} has no help before its type`);
      if (families.has(name)) throw new Error(`${name} stands twice`);
      if (!/^(counter|gauge|histogram|summary)$/.test(rest)) throw new Error(`${rest} is no type`);
      current = { name, help: help[1], type: rest, lines: [] };
      families.set(name, current);
    } else {
      if (!current) throw new Error(`a line before the first type: ${line}`);
      const parsed = parseLine(line);
      if (!namesOf(current).includes(parsed.name))
        throw new Error(`${parsed.name} is not of ${current.name}`);
      const identity = `${parsed.name} ${JSON.stringify(Object.entries(parsed.labels).sort())}`;
      if (seen.has(identity)) throw new Error(`a line stands twice: ${line}`);
      seen.add(identity);
      current.lines.push(parsed);
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family);
  return families;
}

const namesOf = ({ name, type }: ParsedFamily): readonly string[] =>
  type === 'histogram' || type === 'summary'
    ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]
    : [name];

function parseLine(line: string): ParsedLine {
  const [, name = '', inside = '', value = ''] = metricLine.exec(line) ?? [];
  if (name === '') throw new Error(`no line of a metric: ${line}`);
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  for (let at = 0; at < inside.length; at = label.lastIndex) {
    label.lastIndex = at;
    const [, key, text] = label.exec(inside) ?? [];
    if (key === undefined || text === undefined) throw new Error(`no labels: ${inside}`);
    if (key in labels) throw new Error(`the label ${key} stands twice: ${line}`);
    labels[key] = text;
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity').replace('Nan', 'NaN')) };
}

/** Buckets grow with their bounds, and the last one is the count. */
function checkHistogram({ name, lines }: ParsedFamily): void {
  const series = Map.groupBy(lines, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, own] of series) {
    const buckets = own.filter((it) => it.name === `${name}_bucket`);
    const isGrowing = buckets.every((it, at) => at === 0 || it.value >= (buckets[at - 1]?.value ?? 0));
    const bounds = buckets.map((it) => Number(it.labels['le']?.replace('+Inf', 'Infinity')));
    const isSorted = bounds.every((it, at) => at === 0 || it > (bounds[at - 1] ?? 0));
    const count = own.find((it) => it.name === `${name}_count`)?.value;
    const hasSum = own.some((it) => it.name === `${name}_sum`);
    if (!isGrowing || !isSorted || !hasSum || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      throw new Error(`the histogram ${name} ${labels} is broken`);
    if (buckets.at(-1)?.value !== count) throw new Error(`the count of ${name} ${labels} is another`);
  }
}

/** The sum of the lines of a family that have these labels. */
export function totalOf(
  families: ReadonlyMap<string, ParsedFamily>,
  family: string,
  labels: Readonly<Record<string, string>> = {},
  name = family,
): number {
  const lines = families.get(family)?.lines.filter((it) => it.name === name) ?? [];
  return lines
    .filter((it) => Object.entries(labels).every(([key, value]) => it.labels[key] === value))
    .reduce((sum, it) => sum + it.value, 0);
}
