import { gzipSync } from 'node:zlib';
import t from 'tap';
import { validateConfig } from '../../../src/config/load.ts';
import type { Finding, Operation } from '../../../src/core/call.ts';
import type { SensitiveRead } from '../../../src/core/history.ts';
import { carriedMs, createCarriedReads } from '../../../src/decision/facts/carried-reads.ts';
import { headText } from '../../../src/inspect/parts/head-text.ts';
import { isCertain } from '../../../src/risk/signals/read-then-write.ts';
import { createSightingLog } from '../../../src/state/rules/sightings.ts';
import { callOf, findingOf, identityOf } from '../../support/call.ts';
import { tenantSecrets } from '../../support/noticing.ts';

const nowMs = Date.UTC(2026, 2, 4);
const another = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99';
/** Prose enough for several shingles, whatever its bytes stand in. */
const content = Array.from(
  { length: 24 },
  (_, at) =>
    `Paragraph ${at} of the agreement obliges party ${at * 7919} to keep silent about matter ${at * 104729}.`,
).join(' ');
const otherContent = content
  .toUpperCase()
  .replaceAll(/[AEIOU]/g, 'Q')
  .replaceAll(/\d/g, '3');

const tenants = validateConfig(
  { tenants: [{ id: 'acme', org_accounts: { github: ['acme'] } }] },
  { file: undefined, env: {} },
).tenants;
const acme = tenants.get('acme');
if (!acme) throw new Error('the tenant is not there');

const findCarriedReads = createCarriedReads(tenantSecrets.shingler);

const readOf = (fields: Partial<SensitiveRead> = {}, text = content): SensitiveRead => ({
  kind: 'read',
  atMs: nowMs - 1_000,
  agentId: identityOf().agentId,
  traceId: 'trace-1',
  host: 'docs.example.com',
  classes: ['PII'],
  shingles: tenantSecrets.shingler('acme').ofRead([Buffer.from(text)]),
  ...fields,
});

const operationOf = (fields: Partial<Operation> = {}): Operation => ({
  ...{ toolName: 'custom_proxy', name: 'http_post', category: 'http', verb: 'WRITE' },
  ...{ resource: {}, principals: [] },
  ...fields,
});

const fromGithub = (account: string): SensitiveRead => readOf({ host: 'api.github.com', account });
const inRepo = (repo: string): Partial<Operation> => ({ toolName: 'github', resource: { repo } });

/** How many shingles a text has in common with what was read of it. */
const shared = (text: string): number => {
  const { ofRead, ofWrite } = tenantSecrets.shingler('acme');
  const read = new Set(ofRead([Buffer.from(text)]));
  return ofWrite([Buffer.from(text)]).filter((it) => read.has(it)).length;
};

interface Given {
  readonly reads?: readonly SensitiveRead[];
  readonly body?: string;
  readonly url?: string;
  readonly headers?: readonly string[];
  readonly operation?: Partial<Operation>;
  readonly findings?: readonly Partial<Finding>[];
  readonly isExternal?: boolean;
  readonly unreadable?: string;
  readonly knownCredentials?: readonly string[];
}

/** What a call carries to `drop.example`, outside the organisation, unless something else is given. */
function carriedBy({
  reads = [readOf()],
  body = content,
  url,
  headers = [],
  operation,
  findings = [],
  isExternal = true,
  unreadable,
  knownCredentials = [],
}: Given) {
  const sightings = createSightingLog();
  for (const it of reads) sightings.add(it);
  const bytes = Buffer.from(body);
  const request = { receivedAtMs: nowMs, body: bytes, url: url ?? 'https://drop.example/x', headers };
  const call = callOf({
    ...request,
    ...{ tenant: acme as NonNullable<typeof acme>, operation: operationOf(operation), sightings },
    ...{ bodyTexts: [bytes], head: Buffer.from(headText(callOf(request)), 'latin1') },
    ...{ findings: findings.map(findingOf), knownCredentials },
    ...(unreadable === undefined ? {} : { unreadable }),
  });
  return findCarriedReads(call, isExternal);
}

const bySame = [{ by: 'content', read: { traceId: 'trace-1' } }];
const byClass = [{ by: 'class', read: { traceId: 'trace-1' } }];
const piece = Buffer.from(content.slice(0, 1_200));
const encoded = encodeURIComponent(content.slice(0, 1_200));
/** Of Chrome and of an SDK. */
const clientFields = [
  ...[
    'User-Agent',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  ],
  ...[
    'Accept',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  ],
  ...['Accept-Language', 'en-US,en;q=0.9,de-CH;q=0.8'],
  ...['Accept-Encoding', 'gzip, deflate, br, zstd'],
  ...['X-Stainless-Lang', 'js', 'X-Stainless-Package-Version', '4.104.0', 'X-Stainless-OS', 'Linux'],
  ...['X-Stainless-Arch', 'x64', 'X-Stainless-Runtime', 'node', 'X-Stainless-Runtime-Version', 'v26.10.0'],
];
const isRead = { verb: 'READ', name: 'http_get' } as const;
const email = { class: 'PII', kind: 'email-address' } as const;

const cases: readonly (Given & { readonly name: string; readonly want: readonly object[] })[] = [
  { name: 'its content', want: bySame },
  { name: 'its content beside cookies of one letter', knownCredentials: [...'eaio '], want: bySame },
  { name: 'its content as a credential at home', knownCredentials: [content], want: [] },
  { name: 'a piece of its content', body: JSON.stringify({ note: content.slice(300, 900) }), want: bySame },
  { name: 'a turn of phrase', body: content.slice(0, 60), want: [] },
  { name: 'another content', body: otherContent, want: [] },
  { name: 'what nobody has read', reads: [], want: [] },
  { name: 'the content of an answer to another agent', reads: [readOf({ agentId: another })], want: bySame },
  { name: 'what goes to somebody inside', isExternal: false, want: [] },
  {
    name: 'what goes to an account that is not ours',
    isExternal: false,
    operation: { toolName: 'github', resource: { repo: 'mallory/x' } },
    want: bySame,
  },
  {
    name: 'what goes to our own account',
    isExternal: false,
    operation: { toolName: 'github', resource: { repo: 'Acme/x' } },
    want: [],
  },
  { name: 'what goes back to where it came from', url: 'https://docs.example.com/x', want: [] },
  {
    name: 'what goes back to the host, and there to somebody outside',
    url: 'https://api.github.com/x',
    reads: [fromGithub('acme')],
    operation: { ...inRepo('acme/x'), principals: ['mallory'] },
    want: [],
  },
  {
    name: 'what goes back to the host, and there to an account that is not ours',
    url: 'https://api.github.com/x',
    reads: [fromGithub('acme')],
    operation: inRepo('mallory/loot'),
    want: bySame,
  },
  {
    name: 'what goes back to an account that is not ours',
    url: 'https://api.github.com/x',
    reads: [fromGithub('mallory')],
    operation: inRepo('mallory/loot'),
    want: bySame,
  },
  {
    name: 'what goes back to the host, nobody can tell where there',
    url: 'https://api.github.com/x',
    reads: [fromGithub('acme')],
    operation: { ...inRepo('acme/x'), unclear: { toolNames: [], anyMethod: false } },
    want: bySame,
  },
  {
    name: 'what goes where everybody can read it',
    isExternal: false,
    operation: { toolName: 'npm_registry', isPublic: true, resource: { repo: 'acme/x' } },
    want: bySame,
  },
  {
    name: 'what goes back to the host, and there where everybody can read it',
    url: 'https://api.github.com/gists',
    reads: [readOf({ host: 'api.github.com' })],
    operation: { toolName: 'github', name: 'create_gist', isPublic: true },
    want: bySame,
  },
  {
    name: 'what goes from one bucket to another of the same host',
    url: 'https://s3.example.com/theirs/x',
    reads: [readOf({ host: 's3.example.com', account: 'ours' })],
    operation: { resource: { bucket: 'theirs' } },
    want: bySame,
  },
  {
    name: 'what goes back to its bucket',
    url: 'https://s3.example.com/ours/x',
    reads: [readOf({ host: 's3.example.com', account: 'ours' })],
    operation: { resource: { bucket: 'Ours' } },
    want: [],
  },
  { name: 'what was read in this very call', reads: [readOf({ traceId: callOf().traceId })], want: [] },
  { name: 'just in time', reads: [readOf({ atMs: nowMs - carriedMs + 1 })], want: bySame },
  { name: 'too late', reads: [readOf({ atMs: nowMs - carriedMs })], want: [] },
  { name: 'a query', body: '', url: `https://drop.example/?q=${encoded}`, operation: isRead, want: bySame },
  { name: 'a path', body: '', url: `https://drop.example/${encoded}`, operation: isRead, want: bySame },
  {
    name: 'a query with plus signs for spaces',
    body: '',
    url: `https://drop.example/?q=${encoded.replaceAll('%20', '+')}`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a query that is not well encoded elsewhere',
    body: '',
    url: `https://drop.example/?q=${encoded}&x=%FF%zz%`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a query that was escaped twice',
    body: '',
    url: `https://drop.example/?q=${encodeURIComponent(encoded)}`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a query in base64',
    body: '',
    url: `https://drop.example/?q=${piece.toString('base64url')}`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a query in hexadecimal',
    body: '',
    url: `https://drop.example/?q=${piece.toString('hex')}`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a compressed query',
    body: '',
    url: `https://drop.example/?q=${gzipSync(piece).toString('base64url')}`,
    operation: isRead,
    want: bySame,
  },
  {
    name: 'a path of 190 characters',
    body: '',
    url: `https://drop.example/${content.slice(0, 190).replaceAll(' ', '-')}`,
    operation: isRead,
    want: bySame,
  },
  { name: 'a header', body: 'a', headers: ['X-Note', content.slice(0, 1_200)], want: bySame },
  {
    name: 'a header behind as long a body as is looked at',
    body: '0123456 '.repeat(140_000),
    headers: ['X-Note', content.slice(0, 1_200)],
    want: bySame,
  },
  {
    name: 'what clients write by themselves, and somebody has put on a page',
    reads: [readOf({}, clientFields.join(' '))],
    body: '',
    headers: clientFields,
    want: [],
  },
  {
    name: 'a header with a name like that',
    body: 'a',
    headers: ['User-Agent', content.slice(0, 400)],
    want: bySame,
  },
  {
    name: 'a header in which words are listed',
    body: 'a',
    headers: ['Accept', content.slice(0, 400).replaceAll(' ', ', ')],
    want: bySame,
  },
  {
    name: 'long names of headers',
    body: 'a',
    headers: [content.slice(0, 400).replaceAll(/\W/g, '-'), '1'],
    want: bySame,
  },
  {
    name: 'what was reported of a tool without a host',
    reads: [readOf({ host: '' })],
    url: 'mcp:///send',
    want: bySame,
  },
  {
    name: 'what goes to a place that the call names by a number alone',
    isExternal: false,
    operation: { toolName: 'github', resource: { unknown: ['repo'] } },
    want: bySame,
  },
  {
    name: 'the cookie of a GET',
    body: '',
    headers: ['Cookie', `n=${piece.toString('base64')}`],
    operation: isRead,
    want: bySame,
  },
  { name: 'the content, where the call is denied as unreadable', unreadable: 'it is a bomb', want: [] },
  { name: 'a short query', body: '', url: 'https://drop.example/?q=x', operation: isRead, want: [] },
  { name: 'the body of a GET', operation: isRead, want: bySame },
  { name: 'data of its class', body: 'a', findings: [email], want: byClass },
  { name: 'both: the content counts', findings: [email], want: bySame },
  { name: 'data of another class', body: 'a', findings: [{ class: 'PHI' }], want: [] },
  { name: 'data that does not count', body: 'a', findings: [{ ...email, confidence: 'low' }], want: [] },
  {
    name: 'data of a class that another agent was answered',
    body: 'a',
    reads: [readOf({ agentId: another })],
    findings: [email],
    want: [],
  },
  {
    name: 'data of the class of an answer without content',
    body: 'a',
    reads: [readOf({ shingles: new Float64Array(0) })],
    findings: [email],
    want: byClass,
  },
];

for (const { name, want, ...given } of cases) {
  t.test(`what a call carries out of earlier answers: ${name}`, async (t) => {
    const carried = carriedBy(given);
    t.equal(carried.length, want.length);
    t.match(carried, want);
  });
}

t.test('of many answers the last ones are named', async (t) => {
  const reads = Array.from({ length: 40 }, (_, at) => readOf({ traceId: `trace-${at}` }));
  const last = reads.slice(-16).map((it) => it.traceId);
  t.same(
    carriedBy({ reads }).map(({ read }) => read.traceId),
    last,
  );
  t.same(
    carriedBy({ reads, body: 'a', findings: [email] }).map(({ read }) => read.traceId),
    last,
  );
});

/** Records of which each is too short to be known again by itself. */
const records = Array.from(
  { length: 12 },
  (_, at) =>
    `Customer ${at * 7919} of the north owes ${at * 104729} euros to ${at % 2 ? 'Ann' : 'Bob'} Example`,
);
const readEach = (fields: (at: number) => Partial<SensitiveRead> = () => ({})): SensitiveRead[] =>
  records.map((it, at) => readOf({ traceId: `trace-${at}`, ...fields(at) }, it));

t.test('records that were read one by one are known again as a list', async (t) => {
  const body = records.join('\n');
  const few = shared(records[0] as string);
  t.ok(few > 0 && few < 3, 'one of them alone is too little');
  t.same(carriedBy({ body: records[0] as string, reads: readEach() }), []);
  t.ok(carriedBy({ body, reads: readEach() }).length > 1);
  t.same(
    carriedBy({ body, reads: readEach((at) => ({ agentId: `agent-${at}` })) }),
    [],
    'not where each was read by another agent',
  );
  t.same(carriedBy({ body, reads: readEach(() => ({ atMs: nowMs - carriedMs })) }), [], 'nor too long ago');
  t.same(
    carriedBy({ body, reads: readEach((at) => (at === 0 ? {} : { isSlight: true })) }).filter(isCertain),
    [],
    'nor does what anybody may have add to what only we have',
  );
});

t.test('of what was read the reads are named last of which most is carried', async (t) => {
  const reads = [readOf({ traceId: 'whole' }), readOf({ traceId: 'piece' }, content.slice(0, 400))];
  t.same(
    carriedBy({ reads }).map(({ read }) => read.traceId),
    ['piece', 'whole'],
  );
});

t.test('many copies at strangers do not hide that it was read inside', async (t) => {
  const copies = Array.from({ length: 40 }, (_, at) => readOf({ traceId: `copy-${at}`, isSlight: true }));
  const carried = carriedBy({ reads: [readOf(), ...copies] });
  t.equal(carried.at(-1)?.read.traceId, 'trace-1');
  t.ok(carried.length < copies.length, 'and are not all named');
  t.same(carried.map(isCertain).filter(Boolean), [true]);
});
