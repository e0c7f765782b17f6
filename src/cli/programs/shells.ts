import { toExports } from '../../daemon/start/client-variables.ts';

/* Exports as each shell reads them. */

export const shells = ['bash', 'fish', 'powershell', 'cmd'] as const;
export type Shell = (typeof shells)[number];

type Values = Readonly<Record<string, string>>;

const lines = (values: Values, toLine: (name: string, value: string) => string): string =>
  Object.entries(values)
    .map(([name, value]) => `${toLine(name, value)}\n`)
    .join('');

/** `cmd` cannot quote: what it would obey is escaped, and a value with a line break is refused. */
function toCmdLine(name: string, value: string): string {
  if (/[\r\n"]/.test(value)) throw new Error(`${name} has characters that cmd cannot hold.`);
  return `set "${name}=${value.replaceAll('%', '%%')}"`;
}

/** The exports of these values; quoted, whatever is in them. */
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
