import t from 'tap';
import { validateConfig } from '../../../src/config/load.ts';
import type { Sighting } from '../../../src/core/history.ts';
import { AnswerMemory, listValuesMin, type SeenAnswer } from '../../../src/decision/answers/answer-memory.ts';
import type { AnswerReading } from '../../../src/decision/answers/read-answer.ts';
import { shinglesEnough } from '../../../src/decision/facts/carried-reads.ts';
import { createToolSettings } from '../../../src/tenants/tool-settings.ts';
import { tenantSecrets } from '../../support/noticing.ts';

const { tools } = validateConfig(
  {
    tenants: [{ id: 'acme' }],
    tools: [{ name: 'ledger', hosts: ['ledger.example'], sensitive: true }],
  },
  { file: undefined, env: {} },
);

/** What is remembered of an answer. */
function remembered(seen: Partial<SeenAnswer>, reading: Partial<AnswerReading>): readonly Sighting[] {
  const noted: Sighting[] = [];
  const store = { noteSighting: (_: string, it: Sighting) => void noted.push(it) };
  const memory = new AnswerMemory(store, tenantSecrets, createToolSettings(tools));
  memory.saw(
    {
      ...{ tenantId: 'acme', agentId: 'a', traceId: 't', toolName: 'custom_proxy' },
      ...{ host: 'blog.example', atMs: 0 },
      ...seen,
    },
    {
      ...{
        classes: ['PII'],
        places: 1,
        values: 1,
        texts: [],
        secrets: [],
        granted: { access: [], renewal: [] },
        plain: Buffer.alloc(0),
      },
      ...{ injection: { detected: false, score: 0, findings: [] }, unreadable: undefined, findings: [] },
      ...{ sensitiveClasses: reading.classes ?? ['PII'] },
      ...reading,
    },
  );
  return noted;
}

const cases: readonly {
  readonly name: string;
  readonly seen?: Partial<SeenAnswer>;
  readonly reading?: Partial<AnswerReading>;
  readonly isSlight: true | undefined;
}[] = [
  { name: 'one address', isSlight: true },
  { name: 'a few', reading: { values: listValuesMin - 1 }, isSlight: true },
  { name: 'a list', reading: { values: listValuesMin }, isSlight: undefined },
  {
    name: 'a credential',
    reading: { classes: ['SECRETS'], secrets: [Buffer.from('x')] },
    isSlight: undefined,
  },
  {
    name: 'nothing, of a sensitive tool',
    seen: { toolName: 'ledger' },
    reading: { classes: [], values: 0 },
    isSlight: undefined,
  },
];

for (const { name, seen = {}, reading = {}, isSlight } of cases) {
  t.test(`what is remembered of an answer with ${name} is ${isSlight ? 'slight' : 'grave'}`, async (t) => {
    const read = remembered(seen, reading).find((it) => it.kind === 'read');
    t.match(read, { kind: 'read' });
    t.same(read?.kind === 'read' ? read.isSlight : 'none', isSlight);
  });
}

t.test('where an answer came from is remembered, as far as it is known', async (t) => {
  t.match(remembered({ host: 'api.github.com', account: 'acme' }, {}), [
    { host: 'api.github.com', account: 'acme' },
  ]);
  t.notOk('account' in (remembered({ account: undefined }, {})[0] ?? {}));
});

t.test('what has nothing of a class in it is not remembered', async (t) => {
  t.same(remembered({}, { classes: [], places: 0 }), []);
});

t.test('what the call itself has sent is not remembered as its answer', async (t) => {
  const echoed = Array.from({ length: 60 }, (_, at) => `word${at * 7919} of the request`).join(' ');
  const brought = Array.from({ length: 60 }, (_, at) => `record${at * 104729} of the answer`).join(' ');
  const shinglesOf = (sent: readonly Buffer[], text: string): number => {
    const [read] = remembered({ sent: () => sent }, { texts: [Buffer.from(text)] });
    return read?.kind === 'read' ? read.shingles.length : 0;
  };
  const sent = [Buffer.from(`x-note: ${echoed}`)];
  t.ok(shinglesOf(sent, `<pre>${echoed}</pre>`) < shinglesEnough, 'but for those of its ends');
  t.ok(shinglesOf([], `<pre>${echoed}</pre>`) > 10);
  t.ok(shinglesOf(sent, `<pre>${echoed}</pre> ${brought}`) > 10);
});
