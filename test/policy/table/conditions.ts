import type { conditionAliases, RuleCondition } from '../../../src/policy/schema.ts';
import type { GivenFacts } from '../facts.ts';
import type { Row } from './row.ts';

const at = (iso: string): GivenFacts => ({ nowMs: Date.parse(iso) });
const office = (tz: string) => ({ time_of_day_outside: { start: '09:00', end: '17:30', tz } });
const body = (value: unknown): GivenFacts => ({ body: value });
const form = (value: object): GivenFacts => ({
  body: new URLSearchParams({ ...value }).toString(),
  bodyValue: () => ({ kind: 'value', readings: [value] }),
});

/** Each condition of the language and each alias; the compiler asks for all of them. */
export const conditions: Record<keyof RuleCondition | keyof typeof conditionAliases, Row[]> = {
  has_data_class: [
    {
      condition: { has_data_class: ['SECRETS', 'PII'] },
      holds: [{ classes: ['PII'] }, { classes: ['SECRETS'] }],
      fails: [{}, { classes: ['PHI'] }],
      edgeHolds: [{ classes: ['PHI', 'INTERNAL', 'SECRETS'] }],
      edgeFails: [{ classes: ['PHI', 'INTERNAL'] }, { body: 'SECRETS' }],
    },
  ],
  has_detector: [
    {
      condition: { has_detector: ['payment-card', 'iban*'] },
      holds: [{ detectors: ['payment-card'] }, { detectors: ['email-address', 'iban-of-a-firm'] }],
      fails: [{}, { detectors: ['email-address'] }],
      edgeFails: [
        { detectors: ['payment-card-track'] },
        { detectors: ['Payment-card'] },
        { body: 'payment-card' },
      ],
    },
  ],
  has_signal: [
    {
      condition: { has_signal: ['PROMPT_INJECTION', 'DESTRUCTIVE'] },
      holds: [{ signals: ['PROMPT_INJECTION'] }],
      fails: [{}, { signals: ['LOW_TRUST'] }],
      edgeHolds: [{ signals: ['LOW_TRUST', 'DESTRUCTIVE'] }],
      edgeFails: [{ body: 'PROMPT_INJECTION' }],
    },
  ],
  is_external_principal: [
    { condition: { is_external_principal: true }, holds: [{ isExternalPrincipal: true }], fails: [{}] },
    {
      condition: { is_external_principal: false },
      holds: [],
      edgeHolds: [{}],
      fails: [{ isExternalPrincipal: true }],
    },
  ],
  is_new_destination: [
    { condition: { is_new_destination: true }, holds: [{ isNewDestination: true }], fails: [{}] },
    {
      condition: { is_new_destination: false },
      holds: [],
      edgeHolds: [{}],
      fails: [{ isNewDestination: true }],
    },
  ],
  new_resource: [
    { condition: { new_resource: true }, holds: [{ isNewDestination: true }], fails: [{}] },
    { condition: { new_resource: false }, holds: [], edgeHolds: [{}], fails: [{ isNewDestination: true }] },
  ],
  is_volume_burst: [
    { condition: { is_volume_burst: true }, holds: [{ isVolumeBurst: true }], fails: [{}] },
    { condition: { is_volume_burst: false }, holds: [], edgeHolds: [{}], fails: [{ isVolumeBurst: true }] },
  ],
  volume_burst: [
    { condition: { volume_burst: true }, holds: [{ isVolumeBurst: true }], fails: [{}] },
    { condition: { volume_burst: false }, holds: [], edgeHolds: [{}], fails: [{ isVolumeBurst: true }] },
  ],
  threat_intel_match: [
    { condition: { threat_intel_match: true }, holds: [{ threatIntelMatch: true }], fails: [{}] },
    {
      condition: { threat_intel_match: false },
      holds: [],
      edgeHolds: [{}],
      fails: [{ threatIntelMatch: true }],
    },
  ],
  risk_score_gt: [
    {
      condition: { risk_score_gt: 0.5 },
      holds: [{ riskScore: 0.9 }],
      fails: [{ riskScore: 0 }],
      edgeHolds: [{ riskScore: 0.500001 }, { riskScore: 1 }],
      edgeFails: [{ riskScore: 0.5 }],
    },
    { condition: { risk_score_gt: 0 }, holds: [{}], fails: [], edgeFails: [{ riskScore: 0 }] },
    { condition: { risk_score_gt: 1 }, holds: [], fails: [{}], edgeFails: [{ riskScore: 1 }] },
  ],
  trust_score_lt: [
    {
      condition: { trust_score_lt: 0.3 },
      holds: [{ trustScore: 0.1 }],
      fails: [{}],
      edgeHolds: [{ trustScore: 0.299999 }, { trustScore: 0 }],
      edgeFails: [{ trustScore: 0.3 }],
    },
    {
      condition: { trust_score_lt: true },
      holds: [{ trustScore: 0.4 }],
      fails: [{}],
      edgeHolds: [{ trustScore: 0.599999 }],
      edgeFails: [{ trustScore: 0.6 }],
    },
  ],
  body_size_bytes_gt: [
    {
      condition: { body_size_bytes_gt: 4 },
      holds: [body('123456')],
      fails: [{}, body('1')],
      // Bytes, not characters.
      edgeHolds: [body('12345'), body('äöü')],
      edgeFails: [body('1234'), body('äö')],
    },
    { condition: { body_size_bytes_gt: 0 }, holds: [body('x')], fails: [{}], edgeFails: [body('')] },
  ],
  daily_budget_exceeded: [
    {
      condition: { daily_budget_exceeded: 'llm' },
      holds: [{ budgetsExceeded: ['llm'] }],
      fails: [{}, { budgetsExceeded: ['mail'] }],
      edgeHolds: [{ budgetsExceeded: ['mail', 'llm'] }],
      edgeFails: [{ budgetsExceeded: ['LLM'] }, { budgetsExceeded: ['llm2'] }],
    },
  ],
  time_of_day_outside: [
    {
      condition: office('UTC'),
      holds: [at('2026-06-01T03:00:00Z'), at('2026-06-01T20:00:00Z')],
      fails: [at('2026-06-01T12:00:00Z')],
      edgeHolds: [at('2026-06-01T08:59:59.999Z'), at('2026-06-01T17:30:00Z'), at('2026-06-01T00:00:00Z')],
      edgeFails: [at('2026-06-01T09:00:00Z'), at('2026-06-01T17:29:59.999Z')],
    },
    // Half an hour beside the full one, and a zone that is a day ahead.
    {
      condition: office('Asia/Kolkata'),
      holds: [at('2026-06-01T03:29:00Z'), at('2026-06-01T12:00:00Z')],
      fails: [at('2026-06-01T03:30:00Z')],
    },
    {
      condition: office('Pacific/Kiritimati'),
      holds: [at('2026-06-01T18:59:00Z')],
      fails: [at('2026-06-01T19:00:00Z')],
    },
    // Over midnight: 22:00 to 06:00 is inside.
    {
      condition: { time_of_day_outside: { start: '22:00', end: '06:00', tz: 'UTC' } },
      holds: [at('2026-06-01T12:00:00Z')],
      fails: [at('2026-06-01T23:00:00Z')],
      edgeHolds: [at('2026-06-01T06:00:00Z'), at('2026-06-01T21:59:59Z')],
      edgeFails: [at('2026-06-01T22:00:00Z'), at('2026-06-01T00:00:00Z'), at('2026-06-01T05:59:59Z')],
    },
    {
      condition: { time_of_day_outside: { start: '00:00', end: '24:00', tz: 'UTC' } },
      holds: [],
      fails: [at('2026-06-01T12:00:00Z')],
      edgeFails: [at('2026-06-01T00:00:00Z'), at('2026-06-01T23:59:59Z')],
    },
    {
      condition: { time_of_day_outside: { start: '18:00', end: '24:00' } },
      holds: [at('2026-06-01T12:00:00Z')],
      fails: [at('2026-06-01T20:00:00Z')],
      edgeHolds: [at('2026-06-01T00:00:00Z')],
      edgeFails: [at('2026-06-01T23:59:59Z')],
    },
    // Berlin goes from UTC+1 to UTC+2 on 29 March 2026 at 01:00Z and back on 25 October.
    {
      condition: office('Europe/Berlin'),
      holds: [at('2026-03-28T07:30:00Z'), at('2026-03-29T15:30:00Z')],
      fails: [at('2026-03-28T08:00:00Z'), at('2026-03-29T07:00:00Z')],
      edgeHolds: [at('2026-10-25T07:59:59Z')],
      edgeFails: [at('2026-10-25T08:00:00Z'), at('2026-10-24T07:00:00Z')],
    },
    {
      condition: { time_of_day_outside: { start: '01:00', end: '03:00', tz: 'Europe/Berlin' } },
      holds: [at('2026-03-29T01:00:00Z')],
      fails: [at('2026-03-29T00:59:00Z')],
      edgeFails: [at('2026-10-25T00:30:00Z'), at('2026-10-25T01:30:00Z')],
    },
  ],
  body_contains_any: [
    {
      condition: { body_contains_any: ['drop table', 'Project Nightfall'] },
      holds: [body('please drop table users'), body({ note: 'Project Nightfall' })],
      fails: [{}, body('drop a table')],
      edgeHolds: [body('DROP TABLE'), body('raindrop tables'), body({ note: 'project nightfall' })],
      edgeFails: [
        body(''),
        body('drop  table'),
        body('drop tabl'),
        { url: 'https://x.com/drop%20table', body: 'x' },
      ],
    },
    { condition: { body_contains_any: ['x'] }, holds: [body('aXb')], fails: [body('ab')] },
    // Letters beyond ASCII, however they were typed.
    { condition: { body_contains_any: ['§'] }, holds: [body('nach § 5')], fails: [body('nach 5')] },
    {
      condition: { body_contains_any: ['Größe'] },
      holds: [body('die größe')],
      fails: [body('grosse')],
      edgeHolds: [body('DIE GRÖßE'), body('gro\u0308ße')],
    },
    // A sigma that ends a word has a form of its own.
    {
      condition: { body_contains_any: ['ΟΔΟΣ'] },
      holds: [body('η οδος')],
      fails: [body('οδο')],
      edgeHolds: [body('οδοσ'), body('ΟΔΟΣΗΜΑ')],
    },
    // One phrase within another, and a phrase of two lines.
    {
      condition: { body_contains_any: ['orders_1', 'orders_10'] },
      holds: [body('orders_1'), body('see orders_10')],
      fails: [body('orders_2')],
    },
    { condition: { body_contains_any: ['a\nb'] }, holds: [body('xA\nBx')], fails: [body('a b')] },
    {
      condition: { body_contains_any: ['needle'] },
      holds: [{ bodyTexts: [Buffer.from('bmVlZGxl'), Buffer.from('needle')] }],
      fails: [{ bodyTexts: [Buffer.from('bmVlZGxl')] }],
      edgeFails: [{ bodyTexts: [Buffer.from('nee'), Buffer.from('dle')] }],
    },
  ],
  body_contains_all: [
    {
      condition: { body_contains_all: ['alpha', 'beta'] },
      holds: [body('alpha and beta'), body('Beta alpha')],
      fails: [{}, body('alpha')],
      edgeHolds: [{ bodyTexts: [Buffer.from('alpha'), Buffer.from('beta')] }, body('alphabeta')],
      edgeFails: [body('alpha bet')],
    },
    { condition: { body_contains_all: ['ab', 'b', 'ABC'] }, holds: [body('abc')], fails: [body('ab c')] },
  ],
  body_path_equals: [
    {
      condition: { body_path_equals: { path: '$.kind', value: 'refund' } },
      holds: [body({ kind: 'refund' })],
      fails: [{}, body({ kind: 'charge' }), body({ other: 'refund' })],
      edgeFails: [
        body({ kind: 'refunds' }),
        body({ kind: ['charge'] }),
        body({ kind: { name: 'refund' } }),
        body({ kind: [['refund']] }),
        body({ KINDS: 'refund' }),
        body('{"kind":'),
      ],
      edgeHolds: [
        // The same text to servers that fold case, trim, or stop at NUL.
        body({ kind: 'Refund' }),
        body({ kind: ' REFUND\n' }),
        body({ kind: 'refund\0s' }),
        body({ kind: '\uff52efund' }),
        // String(['refund']) is refund in JavaScript, and forms write lists so.
        body({ kind: ['refund'] }),
        form({ kind: { '': 'refund' } }),
        form({ kind: { 0: 'refund' } }),
        form({ 'kind\0': 'refund' }),
        body({ Kind: 'refund' }),
        body({ KIND: 'refund', kind: 'charge' }),
        body({ '\u212aind': 'refund' }),
      ],
    },
    {
      condition: { body_path_equals: { path: '$.n', value: 5 } },
      holds: [body({ n: 5 })],
      fails: [body({ n: 50 }), body({ m: 5 })],
      edgeHolds: [body({ n: '5' }), body({ n: '5.0' }), body({ n: [5] })],
      edgeFails: [body({ n: '' }), body({ n: true }), body({ n: [50] })],
    },
    {
      condition: { body_path_equals: { path: '$.n', value: '5' } },
      holds: [body({ n: '5' })],
      fails: [body({ n: '6' })],
      edgeHolds: [body({ n: 5 })],
      edgeFails: [body({ n: '5.0' })],
    },
    {
      condition: { body_path_equals: { path: '$.flag', value: true } },
      holds: [body({ flag: true })],
      fails: [body({ flag: false })],
      edgeHolds: [
        body({ flag: 'true' }),
        form({ flag: 'true' }),
        body({ flag: 1 }),
        body({ flag: 'True' }),
        form({ flag: 'on' }),
        form({ flag: '1' }),
      ],
      edgeFails: [body({ flag: 'false' }), body({ flag: 0 }), body({ flag: '' }), body({ flag: 'maybe' })],
    },
    {
      condition: { body_path_equals: { path: '$.verified', value: false } },
      holds: [body({ verified: false })],
      fails: [body({ verified: true })],
      edgeHolds: [body({ verified: 0 }), form({ verified: 'off' })],
      edgeFails: [body({ verified: 'on' }), body({ verified: null })],
    },
    {
      // A field of a form may hold JSON, and an object stand where a list is due.
      condition: { body_path_equals: { path: '$.items[*].role', value: 'admin' } },
      holds: [body({ items: [{ role: 'admin' }] })],
      fails: [body({ items: [{ role: 'guest' }] })],
      edgeHolds: [
        body({ items: { role: 'admin' } }),
        body({ items: '[{"role":"admin"}]' }),
        form({ items: ' {"role":"admin"}' }),
      ],
      edgeFails: [body({ items: '[{"role":"admin"' }), body({ items: 'admin' }), body({ items: '"admin"' })],
    },
    // What allows takes the value as it is: a server may not read a text as true.
    {
      action: 'ALLOW',
      condition: { body_path_equals: { path: '$.dry_run', value: true } },
      holds: [body({ dry_run: true })],
      fails: [body({ dry_run: false })],
      edgeFails: [body({ dry_run: 'true' })],
    },
    {
      condition: { body_path_equals: { path: '$.flag', value: null } },
      holds: [body({ flag: null })],
      fails: [{}],
      edgeFails: [body({}), body({ flag: 0 }), body({ flag: '' })],
    },
    // Names that every object has, and such as only brackets can write.
    {
      condition: { body_path_equals: { path: '$.constructor.name', value: 'Object' } },
      holds: [body({ constructor: { name: 'Object' } })],
      fails: [body({ a: 'constructor name' })],
    },
    {
      condition: { body_path_equals: { path: '$.__proto__.admin', value: true } },
      holds: [body('{"__proto__":{"admin":true}}')],
      fails: [body('{"a":"__proto__ admin"}')],
    },
    {
      condition: { body_path_equals: { path: '$.items.length', value: 1 } },
      holds: [body({ items: { length: 1 } })],
      fails: [body({ items: ['length'] })],
    },
    {
      condition: { body_path_equals: { path: "$['odd name']['it\\'s']", value: 1 } },
      holds: [body({ 'odd name': { "it's": 1 } })],
      fails: [body({ odd: 1 })],
    },
    {
      condition: { body_path_equals: { path: '$["a.b"].c', value: 1 } },
      holds: [body({ 'a.b': { c: 1 } })],
      fails: [body({ a: { b: { c: 1 } } })],
    },
    {
      condition: { body_path_equals: { path: '$[1].id', value: 2 } },
      holds: [body([{ id: 1 }, { id: 2 }])],
      fails: [body([{ id: 2 }])],
      // Some servers read a list and an object of numbered fields as the same.
      edgeHolds: [body({ 1: { id: 2 } })],
    },
    {
      condition: { body_path_equals: { path: '$', value: 'yes' } },
      holds: [body('"yes"')],
      fails: [body('yes')],
    },
    // A name in another spelling is a name all the same.
    {
      condition: { body_path_equals: { path: '$.amount', value: 7 } },
      holds: [body({ amount: 7 })],
      fails: [body({ amount: 8 })],
      edgeHolds: [body('{"\\u0061mount":7}'), body('{"am\\u006funt":"7"}')],
      edgeFails: [body('{"\\\\u0061mount":7}')],
    },
  ],
  body_path_gt: [
    {
      condition: { body_path_gt: { path: '$.amount', value: 1000 } },
      holds: [body({ amount: 5000 })],
      fails: [{}, body({}), body({ amount: 1 })],
      edgeHolds: [
        body({ amount: 1000.001 }),
        body({ amount: '1000.5' }),
        body({ amount: ' +5e3 ' }),
        body({ amount: '00001001' }),
        body('{"amount":1e999}'),
        // Numbers to some servers only.
        body({ amount: '1,001' }),
        body({ amount: '1 EUR' }),
        body({ amount: '\u0665' }),
        body({ amount: [2000] }),
        form({ amount: { '': '2000' } }),
      ],
      edgeFails: [
        body({ amount: 1000 }),
        body({ amount: 'lots' }),
        body({ amount: { value: 2000 } }),
        body({ amount: [[2000]] }),
        body({ amount: null }),
        body({ amount: '' }),
        body({ amount: true }),
      ],
    },
    {
      condition: { body_path_gt: { path: '$.order.amount', value: 10 } },
      holds: [body({ order: { amount: 11 } })],
      fails: [body({ amount: 11 })],
      edgeFails: [body({ order: [{ amount: 11 }] }), body({ 'order.amount': 11 }), body({ order: 'amount' })],
    },
    {
      condition: { body_path_gt: { path: '$.items[*].price', value: 10 } },
      holds: [body({ items: [{ price: 1 }, { price: 11 }] })],
      fails: [body({ items: [{ price: 1 }, { cost: 11 }] })],
      edgeHolds: [body({ items: { a: { price: 11 } } })],
      edgeFails: [body({ items: [] }), body({ items: 'price' }), body({ items: [{ price: 10 }] })],
    },
    {
      condition: { body_path_gt: { path: '$.a[*][*].b[*]', value: 1 } },
      holds: [body({ a: [[{ b: [0, 2] }]] })],
      fails: [body({ a: [[{ b: [0, 1] }], []] })],
    },
    // A form is an object of strings.
    {
      condition: { body_path_gt: { path: '$.amount', value: 10 } },
      holds: [form({ amount: '50' })],
      fails: [form({ amount: '5' })],
    },
  ],
  body_path_gte: [
    {
      condition: { body_path_gte: { path: '$.n', value: 3 } },
      holds: [body({ n: 4 })],
      fails: [body({ n: 2 }), body({ m: 3 })],
      edgeHolds: [body({ n: 3 }), body({ n: '3' })],
      edgeFails: [body({ n: 2.999 }), body({ n: 'three' })],
    },
  ],
  body_path_lt: [
    {
      condition: { body_path_lt: { path: '$.n', value: 0 } },
      holds: [body({ n: -1 })],
      fails: [body({ n: 1 }), {}],
      edgeHolds: [body({ n: -0.001 }), body({ n: '-1e999' })],
      edgeFails: [body({ n: 0 }), body({ n: '-0' }), body({ m: -1 }), body({ n: '' }), body({ n: null })],
    },
    {
      condition: { body_path_lt: { path: '$.xs[*]', value: 2 } },
      holds: [body({ xs: [5, 1] })],
      fails: [body({ xs: [5, 2] })],
    },
  ],
  body_path_lte: [
    {
      condition: { body_path_lte: { path: '$.n', value: 0 } },
      holds: [body({ n: -5 })],
      fails: [body({ n: 5 }), body({ m: 0 })],
      edgeHolds: [body({ n: 0 }), body({ n: '0.0' })],
      edgeFails: [body({ n: 0.001 }), body({ n: false })],
    },
  ],
};
