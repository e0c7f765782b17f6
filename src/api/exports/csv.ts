import type { ExportFormat } from './format.ts';

/* Comma-separated values (RFC 4180): CRLF ends a line. Columns keep their places; new ones are added last. */

export const csvColumns = [
  'trace_id',
  'at',
  'tenant_id',
  'env_name',
  'agent_id',
  'agent_name',
  'runtime_type',
  'key_id',
  'key_prefix',
  'client_address',
  'entrance',
  'method',
  'url',
  'body_bytes',
  'tool_name',
  'operation',
  'category',
  'verb',
  'decision',
  'would_be',
  'risk_score',
  'risk_band',
  'reason_codes',
  'classifications',
  'findings',
  'tags',
  'violations',
  'credential',
  'policy_name',
  'rule_id',
  'approval_id',
  'message_of',
  'explanation',
  'registered_name',
] as const;

const lineEnd = '\r\n';
const between = '; ';

/** Beginnings that a spreadsheet takes for a formula, from any keyboard. */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
/** Finds the same behind what another reader takes for the end of a cell, with quotes and spaces between. */
const innerFormula = /([;,|\t\r\n]["'\s]{0,8})(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** Needs no quotes, whatever a reader takes for its separator. */
const harmless = /^[\w.:/-]*$/;

/** Text of others: an apostrophe before it keeps a spreadsheet from working it out. */
function toCell(text: string): string {
  const inside = text.replace(innerFormula, "$1'");
  const defused = formula.test(inside) ? `'${inside}` : inside;
  return harmless.test(defused) ? defused : `"${defused.replaceAll('"', '""')}"`;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  // Numbers are the gateway's own.
  if (typeof value === 'number') return String(value);
  return toCell(Array.isArray(value) ? value.map(toWords).join(between) : toWords(value));
}

/** A finding says its class, kind and place. */
const toWords = (value: unknown): string =>
  typeof value === 'object' && value !== null ? Object.values(value).join(' ') : String(value);

export const csvExport: ExportFormat = {
  contentType: 'text/csv; charset=utf-8; header=present',
  extension: 'csv',
  head: `${csvColumns.join()}${lineEnd}`,
  toText(trace) {
    const fields = JSON.parse(trace) as Readonly<Record<string, unknown>>;
    return `${csvColumns.map((name) => toText(fields[name])).join()}${lineEnd}`;
  },
};
