import { toExports } from '../../daemon/start/client-variables.ts';

/* Writes exports as each shell reads them. */

export const shells = ['bash', 'fish', 'powershell', 'cmd'] as const;
export type Shell = (typeof shells)[number];

type Values = Readonly<Record<string, string>>;

const lines = (values: Values, toLine: (name: string, value: string) => string): string =>
  Object.entries(values)
    .map(([name, value]) => `${toLine(name, value)}\n`)
    .join('');

/** Returns a line for `cmd`, which cannot quote. What it would obey is escaped; a line break is refused. */
function toCmdLine(name: string, value: string): string {
  if (/[\r\n"]/.test(value)) throw new Error(`${name} has characters that cmd cannot hold.`);
  return `set "${name}=${value.replaceAll('%', '%%')}"`;
}

/** Functions that return the exports of values, by shell. Values are quoted, whatever is in them. */
export const exportsFor: Readonly<Record<Shell, (values: Values) => string>> = {
  bash: toExports,
  fish: (values) =>
    lines(
      values,
      (name, value) => `set -gx ${name} '${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
    ),
  // PowerShell takes typographic quotes for quotes, too.
  powershell: (values) =>
    lines(values, (name, value) => `$env:${name} = '${value.replace(/['\u2018-\u201b]/g, '$&$&')}'`),
  cmd: (values) => lines(values, toCmdLine),
};
