import type { ShownConfig } from '../../../api/answers.ts';
import type { Shown } from './config.ts';

type ValueOrigin = ShownConfig['origins'][number];

export interface ConfigLine {
  readonly path: string;
  readonly value: string;
  /** The place where the value is set; undefined where nobody has set it. */
  readonly origin: ValueOrigin | undefined;
  /** Tells whether a value that nobody has set differs from its default, since it follows from others. */
  readonly isDerived: boolean;
}

/** Returns every value by its path, with where it comes from. */
export function configLinesOf({ config, defaults, origins }: ShownConfig): readonly ConfigLine[] {
  const known = new Map(origins.map((it) => [it.path, it]));
  const lines: ConfigLine[] = [];
  const walk = (value: unknown, standard: unknown, path: string): void => {
    if (isTable(value) && Object.keys(value).length > 0) {
      const other = isTable(standard) ? standard : {};
      for (const [name, it] of Object.entries(value))
        walk(it, other[name], path === '' ? name : `${path}.${name}`);
      return;
    }
    const text = JSON.stringify(value) ?? 'null';
    const origin = originAt(known, path);
    lines.push({
      path,
      value: text,
      origin,
      isDerived: origin === undefined && text !== JSON.stringify(standard),
    });
  };
  walk(config, defaults, '');
  return lines;
}

const isTable = (value: unknown): value is Shown =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the origin of a value, or of what it stands in, or for a tenant of what holds for all tenants. */
function originAt(known: ReadonlyMap<string, ValueOrigin>, path: string): ValueOrigin | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    // Times are shown in milliseconds, and are written with their unit.
    const found = known.get(at) ?? known.get(at.replace(/_ms$/, ''));
    if (found) return found;
  }
  const inherited = /^tenants\.[^.]+\.(.+)$/.exec(path)?.[1];
  return inherited === undefined ? undefined : originAt(known, inherited);
}

/** Returns an origin in words, such as `line 12, from SLACK_URL` or `--listen of the command line`. */
export function originWord({ from, line, name }: ValueOrigin): string {
  if (from === 'first start') return 'the first start';
  if (from === 'command line') return `${name} of the command line`;
  if (from === 'environment') return `${name} of the environment`;
  const place = line === undefined ? 'the file' : `line ${line}`;
  return name === undefined ? place : `${place}, from ${name}`;
}
