import t from 'tap';
import type { BodyFormat } from '../../src/inspect/decode/body-format.ts';
import { type PartResult, readPart } from '../../src/inspect/read-part.ts';
import { redactBody } from '../../src/inspect/redact/redact.ts';
import { engine } from '../support/detectors.ts';

const bounds = { maxDecodedBytes: 1 << 20, isOver: () => false };

const read = (bytes: Buffer, format: BodyFormat): PartResult =>
  readPart({ name: 'body', bytes, format, host: 'x.example', locator: () => () => 'body' }, engine, bounds);

const password = `vK7${'#qLw9'.repeat(2)}xTz`;
const rows = [
  ['2026-04-11', 'business annual, eu-central', '04-1234567-8', 'nas-2'],
  ['2026-04-12', 'business annual, eu-west', password, 'nas-3'],
];
const names = ['created_at', 'plan_and_region', 'password', 'host'];
const quoted = (row: readonly string[]): string => row.map((it) => `"${it}"`).join(',');
const csv = [names, ...rows].map(quoted).join('\n');

const tables: readonly { name: string; format: BodyFormat; body: string }[] = [
  { name: 'CSV', format: 'text', body: csv },
  { name: 'tabs', format: 'text', body: [names, ...rows].map((row) => row.join('\t')).join('\n') },
  {
    name: 'Markdown',
    format: 'text',
    body: [names, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n'),
  },
  { name: 'CSV in JSON', format: 'json', body: JSON.stringify({ file: csv, size: 7 }) },
  { name: 'columns and rows', format: 'json', body: JSON.stringify({ columns: names, rows }) },
  {
    name: 'HTML',
    format: 'xml',
    body: `<table>${[names, ...rows].map((row) => `<tr><td>${row.join('</td><td>')}</td></tr>`).join('')}</table>`,
  },
];

for (const { name, format, body } of tables) {
  t.test(`what stands under the name of a column is found once, and cut alone: ${name}`, async (t) => {
    const { findings, unreadable } = read(Buffer.from(body), format);
    t.equal(unreadable, undefined);
    const found = findings.filter(({ start, end }) => body.slice(start, end) === password);
    t.equal(found.length, 1);
    t.match(found, [{ class: 'SECRETS', confidence: 'medium' }]);
    const cuts = found.map(({ start, end, kind }) => ({ start, end, label: kind }));
    const redacted = redactBody(Buffer.from(body), cuts, format) as Buffer;
    t.equal(redacted.toString(), body.replace(password, `[REDACTED:${found[0]?.kind}]`));
    const again = read(redacted, format).findings.filter(({ class: dataClass }) => dataClass === 'SECRETS');
    t.same(
      again.filter(({ start }) => start >= (found[0]?.start ?? 0)),
      [],
      'read again',
    );
  });
}

t.test('a table of values that show themselves counts each of them once', async (t) => {
  const mails = Array.from({ length: 700 }, (_, index) => `user${index}@mail-${index}.example.net,member`);
  const { findings, unreadable } = read(Buffer.from(`email,role\n${mails.join('\n')}\n`), 'text');
  t.equal(unreadable, undefined);
  t.equal(findings.length, 700);
});
