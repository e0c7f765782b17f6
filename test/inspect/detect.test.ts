import t from 'tap';
import { detect } from '../../src/inspect/detect.ts';
import { sha256Of } from '../../src/inspect/patterns/tuning.ts';
import { loadEngines } from '../../src/tenants/engines.ts';

const { common } = loadEngines();
const bounds = { maxDecodedBytes: 1_000_000, isOver: () => false };
const detected = (text: string, contentType = 'text/plain') =>
  detect(Buffer.from(text), contentType, common, bounds);

const host = 'db1.acme.internal';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

t.test('says where a finding stands', async (t) => {
  const { findings, unreadable } = detected(`no\nünï ${host} or\n\n${host}`);
  t.equal(unreadable, undefined);
  t.match(findings, [
    { kind: 'private-host-name', class: 'INTERNAL', confidence: 'medium', line: 2, column: 5 },
    { line: 4, column: 1 },
  ]);
  const json = detected(JSON.stringify({ a: [{ b: host }] }), 'application/json');
  t.match(json.findings, [{ location: 'body:$.a[0].b', line: 1 }]);
});

t.test('counts the columns of a long line, character by character', async (t) => {
  const cells = Array.from({ length: 900 }, (_, index) => `${'ü'.repeat(500)} db${index}.acme.internal`);
  const { findings } = detected(`first\n${cells.join(' ')}`);
  t.equal(findings.length, 900);
  let column = 1;
  for (const [index, finding] of findings.entries()) {
    column += 501;
    t.match(finding, { line: 2, column });
    column += `db${index}.acme.internal `.length;
  }
});

t.test('says how it was decoded, and what would allow it', async (t) => {
  const wrapped = base64(`the host is ${host} for now`);
  const { findings } = detected(`see ${wrapped}`);
  t.match(findings, [
    { kind: 'private-host-name', encodings: ['base64'], sha256: [sha256Of(Buffer.from(host))] },
  ]);
  t.strictSame(detected(host).findings[0]?.encodings, []);
});

t.test('shows the surroundings on the line, and nothing that was found', async (t) => {
  const { findings } = detected(
    `first\nmaster ${host}, replica db2.acme.internal; ${base64(`at ${host} and so on`)}\nlast`,
  );
  t.equal(findings.length, 3);
  for (const { preview } of findings) {
    t.match(preview, '[private-host-name]');
    t.notMatch(preview, /acme|first|last|[A-Za-z0-9+/]{24}/, preview);
  }
  t.match(findings[0]?.preview, /^master \[private-host-name\], replica \*+/);
});

t.test('an empty content has nothing, and what cannot be read to its end is said to be so', async (t) => {
  t.strictSame(detected(''), { findings: [], unreadable: undefined });
  const many = detected(`${host}\n`.repeat(1001));
  t.match(many.unreadable, /too many/);
  t.equal(many.findings.length, 1000, 'what was found is shown');
});
