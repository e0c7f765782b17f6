import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import type { Finding } from '../../../src/core/call.ts';
import { type DetectorEngine, reachMax } from '../../../src/inspect/match/engine.ts';
import { bodyPart, type PartResult, readPart } from '../../../src/inspect/read-part.ts';
import {
  beginningOf,
  createBeginningMemory,
  type KnownBy,
} from '../../../src/inspect/segments/known-beginning.ts';
import { createEngines } from '../../../src/tenants/engines.ts';
import { detectors, engine } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

/*
 * Bodies that begin as earlier ones did are read on from there, and show all that they show when they are read as a whole: whatever stands in
 * what is known, in what is new, and across the place between them.
 */

const bounds = { maxDecodedBytes: 1 << 26, isOver: () => false };
const jsonType = 'application/json';

const readWhole = (body: Buffer, by?: KnownBy, reader: DetectorEngine = engine): PartResult =>
  readPart({ ...bodyPart(body, jsonType, 'api.example.com'), knownBy: by, mayBeMany: true }, reader, bounds);

/** Reads a body twice: the first body that begins so is not remembered. */
const readTwice = (body: Buffer, by: KnownBy): PartResult => {
  readWhole(body, by);
  return readWhole(body, by);
};

/** What a body shows as a whole, and not where its beginning is known: findings of no class that is found in that place. */
const missing = (whole: PartResult, known: PartResult): string[] =>
  whole.findings
    .filter((it) => !known.findings.some((other) => other.class === it.class && overlap(it, other)))
    .map(({ kind, start, end }) => `${kind} ${start} ${end}`);

const overlap = (one: Finding, other: Finding): boolean => one.start < other.end && other.start < one.end;

const kindsIn = ({ findings }: PartResult): string[] => findings.map(({ kind }) => kind);

const newMemory = (tenantId = 'acme'): KnownBy => ({ memory: createBeginningMemory(), tenantId });

/** Real text that stays as it is: of installed packages, whose versions the lock file fixes. */
const texts = ['commander/lib', 'picomatch/lib', 'graphql/utilities', 'ipaddr.js'].flatMap((folder) =>
  readdirSync(`node_modules/${folder}`)
    .filter((name) => /\.(?:js|md)$/.test(name))
    .toSorted()
    .map((name) => readFileSync(`node_modules/${folder}/${name}`, 'utf8')),
);

/** The numbers of a linear congruential generator (Numerical Recipes), below 1. */
function randomBy(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Message {
  readonly role: string;
  readonly [field: string]: unknown;
}

const filler = (bytes: number, at = 0): string => {
  const text = texts.slice(at % texts.length).join('\n');
  return text.slice(0, bytes);
};

const message = (content: unknown, role = 'tool'): Message => ({ role, content });
const conversation = (messages: readonly Message[]): Buffer =>
  Buffer.from(JSON.stringify({ model: 'large-1', messages }));

/** Two turns of a conversation: what the second one shows is compared with what it shows by itself. */
function turns(
  before: readonly Message[],
  added: readonly Message[],
): { known: PartResult; whole: PartResult; isKnown: boolean } {
  const by = newMemory();
  readTwice(conversation(before), by);
  const body = conversation([...before, ...added]);
  const isKnown = beginningOf({ bytes: body }, engine, by)?.known.from !== undefined;
  return { known: readWhole(body, by), whole: readWhole(body), isKnown };
}

const secret = expandSample(
  examplesOf(detectors.find(({ id }) => id === 'github-token') ?? (detectors[0] as never)).match[0] ?? '',
);

t.test('a conversation is read on from what is known of it', async (t) => {
  const before = [message(filler(20_000)), message('and what does it do?', 'user')];
  const { known, whole, isKnown } = turns(before, [message(`the key is ${secret}`)]);
  t.ok(isKnown);
  t.same(missing(whole, known), []);
  t.ok(kindsIn(known).includes('github-token'));

  const by = newMemory();
  const planted = [message(`${filler(9000)} ${secret} ${filler(9000, 3)}`), message('and now?', 'user')];
  const first = readTwice(conversation(planted), by);
  const second = readWhole(conversation([...planted, message('it is a token')]), by);
  t.ok(kindsIn(first).includes('github-token'));
  t.same(kindsIn(second), kindsIn(first), 'what was found is found again');
});

/** Texts in which an escape stands every few bytes, or that are one long row of them. */
const dense: Readonly<Record<string, { text: string; isResumed: boolean }>> = {
  'JSON in JSON': {
    text: JSON.stringify(Array.from({ length: 900 }, (_, at) => ({ id: `n${at}`, is: at % 2 === 0 }))),
    isResumed: true,
  },
  'short lines': {
    text: Array.from({ length: 4000 }, (_, at) => `${at % 90}`).join('\n    '),
    isResumed: true,
  },
  'other letters': { text: 'Ключ доступа '.repeat(1500), isResumed: false },
  'code points in escapes': { text: '\\u0430\\u0431\\u0432'.repeat(1200), isResumed: false },
};
for (const [name, { text, isResumed }] of Object.entries(dense)) {
  t.test(`no place to read on from cuts an escape: ${name}`, async (t) => {
    const by = newMemory();
    const before = [message(filler(9000)), message(text), message(filler(100))];
    readTwice(conversation(before), by);
    const body = conversation([...before, message('and then?')]);
    const { from = 0, newFrom = 0 } = beginningOf({ bytes: body }, engine, by)?.known ?? {};
    const resumes = newFrom > body.length - 1000;
    t.equal(resumes, isResumed, `${newFrom} of ${body.length}`);
    t.notMatch(body.toString('latin1', from - 12, from), /\\$|\\[^"\\/bfnrt]|\\u[0-9a-f]{0,4}$|\s$/);
  });
}

/** What stands at the end of the first turn, and what the second one adds. */
const seams: Readonly<Record<string, readonly [before: readonly Message[], added: readonly Message[]]>> = {
  'a secret over two messages': [
    [message(filler(20_000)), message(secret.slice(0, 20))],
    [message(secret.slice(20))],
  ],
  'a secret over two messages, each of them long': [
    [message(`${filler(20_000)} ${secret.slice(0, 20)}`)],
    [message(`${secret.slice(20)} ${filler(4000, 5)}`)],
  ],
  'a key name at the end of what is known': [
    [message(filler(20_000)), { role: 'tool', password: '' }],
    [{ role: 'tool', password: 'Tr0ub4dor-and-3x' }],
  ],
  'lines of a private key as items of a list': [
    [
      message(filler(20_000)),
      message([
        '-----BEGIN PRIVATE KEY-----',
        ...texts.slice(0, 3).map(() => 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7'),
      ]),
    ],
    [message(['MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7', '-----END PRIVATE KEY-----'])],
  ],
  'a value that was told by a word, and stands again where no word is': [
    [message(`${filler(12_000)} Zx81-quartz-Lm ${filler(12_000, 7)}`)],
    [message('password = "Zx81-quartz-Lm"')],
  ],
  'a name, and far behind it a disease': [
    [message(`${filler(12_000)} The patient is Ravi Lim.`)],
    [message('Diagnosis: diabetes mellitus type 2, metformin 500 mg twice daily.')],
  ],
  'rows of a table under a header that is known': [
    [
      message(filler(20_000)),
      {
        role: 'tool',
        rows: [
          ['user', 'password'],
          ['ann', 'Grz7-plinth-04'],
        ],
      },
    ],
    [{ role: 'tool', rows: [['bob', 'Vex9-marble-77']] }],
  ],
};

for (const [name, [before, added]] of Object.entries(seams)) {
  t.test(`nothing hides behind what is known: ${name}`, async (t) => {
    const { known, whole } = turns(before, added);
    t.same(missing(whole, known), []);
    if (name === 'a secret over two messages') t.ok(kindsIn(known).includes('github-token'));
    t.same(
      [known.opaque, known.unreadable, known.uncounted],
      [whole.opaque, whole.unreadable, whole.uncounted],
    );
  });
}

/** Beginnings and ends of bodies with a long table that goes on: its header stands far before what is new. */
const many = (row: (index: number) => string): string =>
  Array.from({ length: 400 }, (_, at) => row(at)).join('');
const tables: Readonly<Record<string, readonly [before: string, added: string]>> = {
  'a list with commas': [
    `name,password\n${many((at) => `user${at},"see the vault, page ${at}"\n`)}`,
    'bob,"Vex9-marble-77"\n',
  ],
  'statements of SQL': [
    `INSERT INTO users (name, password) VALUES ${many((at) => `("user${at}", "see page ${at}"), `)}`,
    '("bob", "Vex9-marble-77")',
  ],
  'a page with a table': [
    `["<table><tr><th>name</th><th>password</th></tr>",${many((at) => `"<tr><td>user${at}</td><td>see page ${at}</td></tr>",`)}`,
    '"<tr><td>bob</td><td>Vex9-marble-77</td></tr></table>"]',
  ],
  'a page with a table of which only the header is known': [
    `["<table><tr><th>name</th><th>password</th></tr>",${many((at) => `"some words on page ${at} and no row",`)}`,
    '"<tr><td>bob</td><td>Vex9-marble-77</td></tr></table>"]',
  ],
  'rows of which the first begins in a string': [
    `"[["user","password"],${many((at) => `["user${at}","see page ${at}"],`)}`,
    '["bob","Vex9-marble-77"]]',
  ],
};

for (const [name, [before, added]] of Object.entries(tables)) {
  t.test(`a table is not read on without its header: ${name}`, async (t) => {
    const by = newMemory();
    readTwice(Buffer.from(before), by);
    const body = Buffer.from(before + added);
    const whole = readWhole(body);
    t.ok(kindsIn(whole).includes('generic-password'));
    t.same(missing(whole, readWhole(body, by)), []);
  });
}

t.test('pieces of a secret in numbered fields of several turns', async (t) => {
  const third = Math.ceil(secret.length / 3);
  const pieceOf = (at: number): string => secret.slice(at * third, (at + 1) * third);
  const piecesOf = (nameOf: (at: number) => string, quote: (fields: object) => unknown): Message[] =>
    [0, 1, 2].map((at) => ({ role: 'tool', ...(quote({ [nameOf(at)]: pieceOf(at) }) as object) }));
  const ways: Readonly<Record<string, readonly Message[]>> = {
    'fields of the body': piecesOf(
      (at) => `part${at}`,
      (it) => it,
    ),
    'fields of JSON in a string': piecesOf(
      (at) => `part${at}`,
      (it) => ({ content: JSON.stringify(it) }),
    ),
    'letters beside another number': piecesOf(
      (at) => `part_${'abc'[at]}`,
      (it) => ({ ...it, n0: 'x', n1: 'y' }),
    ),
    'letters, and numbers only at the end': [
      { role: 'tool', part_a: pieceOf(0) },
      { role: 'tool', part_b: pieceOf(1) },
      { role: 'tool', part_c: pieceOf(2), n0: 'x', n1: 'y' },
    ],
  };
  for (const [name, pieces] of Object.entries(ways)) {
    const by = newMemory();
    const said: Message[] = [message(filler(12_000)), message('go on', 'user')];
    readTwice(conversation(said), by);
    for (const [at, piece] of [...pieces, message('thanks', 'user'), message('go on', 'user')].entries()) {
      said.push(message(filler(9_000, at)), piece, message('and?', 'user'));
      const body = conversation(said);
      t.ok(
        beginningOf({ bytes: body }, engine, by)?.known.from !== undefined,
        `${name}: turn ${at} is read on`,
      );
      const whole = readWhole(body);
      t.same(missing(whole, readWhole(body, by)), [], `${name}: turn ${at}`);
      if (at >= 2) t.ok(kindsIn(whole).includes('github-token'), `${name}: it is found in turn ${at}`);
    }
  }
});

t.test('what is known of one is not known of others', async (t) => {
  const body = conversation([message(filler(20_000)), message(filler(9000, 4))]);
  const by = newMemory();
  readWhole(body, by);
  const isKnownBy = (reader: DetectorEngine, who: KnownBy): boolean => {
    beginningOf({ bytes: body }, reader, who);
    return beginningOf({ bytes: body }, reader, who)?.known.from !== undefined;
  };
  t.notOk(isKnownBy(engine, by), 'one that has come once is not remembered');
  readWhole(body, by);
  t.ok(isKnownBy(engine, by), 'to the same tenant it is known');
  t.notOk(isKnownBy(engine, { ...by, tenantId: 'other' }), 'to another tenant it is not');
  const tuning = {
    off: new Set<string>(),
    allowSha256: new Set<string>(),
    confidence: new Map(),
    publishedExamples: 'count',
  } as const;
  t.notOk(isKnownBy(engine.tuned(tuning), by), 'nor where the tenant has tuned its detectors');
  const own = createEngines(detectors).of({
    internal: { builtin: true, hosts: [], markers: ['project nightjar'] },
    detectors: { ...tuning, publishedExamples: 'ignore' },
  });
  t.notOk(isKnownBy(own, by), 'nor where it looks for words of its own');

  const binary = Buffer.concat([body.subarray(0, -4), Buffer.from('\0"}]}')]);
  t.equal(
    beginningOf({ bytes: binary }, engine, by),
    undefined,
    'nor where the end of the body makes no JSON of it',
  );

  const marked = conversation([message(`project nightjar ${filler(20_000)}`), message(filler(9000, 4))]);
  readTwice(marked, by);
  t.ok(readWhole(marked, by, own).findings.length > readWhole(marked, by).findings.length);
  const named = (name: string): Buffer =>
    Buffer.from(JSON.stringify({ [name]: 'Grz7-plinth-04', text: filler(20_000), more: filler(9000, 4) }));
  readTwice(named('note'), by);
  t.ok(
    kindsIn(readWhole(named('password'), by)).length > kindsIn(readWhole(named('note'), by)).length,
    'another name before a value is another beginning',
  );
});

t.test('decoded forms of what is known are there for policies and the other readers', async (t) => {
  const hidden = Buffer.from(
    'the launch of project nightjar is on the fourth of May, and nobody is to know it',
  ).toString('base64');
  const before = [message(`${filler(500)} ${hidden} ${filler(24_000, 9)}`)];
  const { known, whole, isKnown } = turns(before, [message('and then?')]);
  t.ok(isKnown);
  for (const { texts: forms, ends } of [known, whole]) {
    t.ok(
      forms.some((it) => it.includes('project nightjar')),
      'as a text',
    );
    t.ok(
      ends.some((it) => it.includes('project nightjar')),
      'and as one that is read for what it asks for',
    );
    t.ok(
      forms.some((it) => it.includes(filler(3000, 9).slice(0, 2000))),
      'the text itself is there as a whole, without its escapes',
    );
  }
});

t.test('decoded forms that are remembered keep nothing else in memory', async (t) => {
  const coded = (at: number): string =>
    Buffer.from(`the launch number ${at} is on the fourth of May, and nobody is to know it`).toString(
      'base64',
    );
  const body = conversation([
    message([1, 2, 3].map((at) => `${coded(at)} ${filler(12_000, at)}`).join(' ')),
    message(filler(9000, 4)),
  ]);
  const by = newMemory();
  readTwice(body, by);
  const kept = beginningOf({ bytes: body }, engine, by)?.known.decoded ?? [];
  t.ok(kept.length > 1, 'there are some');
  t.ok(kept.every((it) => it.length === it.buffer.byteLength));
});

t.test('what rules look for is found in what is known', async (t) => {
  const words = ['project nightjar', 'harvest moon', 'absent', 'seam'];
  const read = (body: Buffer, by?: KnownBy): readonly number[] => {
    const part = {
      ...bodyPart(body, jsonType, 'api.example.com'),
      knownBy: by,
      mayBeMany: true,
      words,
    } as const;
    const { wordsFound } = readPart(part, engine, bounds);
    return [...(wordsFound?.found ?? [])];
  };
  const coded = Buffer.from('nobody is to know of the harvest moon before the fourth').toString('base64');
  const before = [message(`Project Nightjar ${filler(9000)} ${coded} ${filler(9000, 9)}`)];
  const by = newMemory();
  for (let times = 0; times < 2; times++) t.same(read(conversation(before), by), [1, 1, 0, 0]);
  const next = [...before, message('and the seam?')];
  t.ok(beginningOf({ bytes: conversation(next), words }, engine, by)?.known.from);
  t.same(read(conversation(next), by), [1, 1, 0, 1]);
  t.same(read(conversation(next)), [1, 1, 0, 1], 'as it is without');
  t.same(read(conversation([message(`nothing here ${filler(9000)}`)]), by), []);
});

t.test('no detector reaches farther back than is read again', async (t) => {
  for (const { id, bounds: reach, window, alphabet, anchors } of detectors) {
    const isFar = engine.farReaching.some(({ word }) =>
      examplesOf(detectors.find((it) => it.id === id) as never).match.some((it) =>
        it.toLowerCase().includes(word),
      ),
    );
    const bytes = reach.reachMax + reach.aheadMax + (anchors.length > 0 ? 0 : window.after);
    const endsWithString = ((alphabet.byteBits[1] as number) & 4) === 0;
    t.ok(bytes <= reachMax || endsWithString || isFar, id);
    t.ok(window.before + reach.aheadMax <= 1536, `${id} is not told by a word farther behind it`);
  }
});

const samples = detectors.flatMap((detector) => examplesOf(detector).match.slice(0, 1).map(expandSample));

/** Pieces of a conversation as an attacker might write it. What is encoded comes once: decoded values are read one behind the other. */
function piecesBy(random: () => number): () => string {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const headings = [
    '-----BEGIN PRIVATE KEY-----\n',
    'kind: Secret\ndata:\n',
    'name,password\n',
    '"columns": ["user", "password"]',
  ];
  let isEncoded = false;
  const encoded = (sample: string): string => {
    const encoding = isEncoded ? 'utf8' : pick(['base64', 'hex'] as const);
    isEncoded = true;
    return Buffer.from(sample).toString(encoding);
  };
  const kinds: readonly ((sample: string) => string)[] = [
    (sample) => sample,
    (sample) => sample,
    encoded,
    encodeURIComponent,
    (sample) => JSON.stringify({ name: 'x', value: sample }),
    (sample) => sample.slice(0, Math.floor(random() * sample.length)),
    () => `${pick(['password', 'token', 'api_key', 'ssn', 'patient'])}${pick([': ', '=', '\n', ' '])}`,
    () => pick(headings),
    () => filler(Math.floor(random() * 3000), Math.floor(random() * texts.length)),
    () => filler(Math.floor(random() * 3000), Math.floor(random() * texts.length)),
  ];
  return () => pick(kinds)(pick(samples));
}

/** Messages each of which has one piece of a secret, in a field with a number. */
function seriesBy(random: () => number): readonly Message[] {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const sample = pick(samples);
  const count = 2 + Math.floor(random() * 3);
  const length = Math.ceil(sample.length / count);
  const nameOf = pick<(at: number) => string>([
    (at) => `part${at}`,
    (at) => `key_${at + 1}`,
    (at) => `chunk_${'abcd'[at]}`,
    (at) => `${['first', 'second', 'third', 'fourth'][at]}_half`,
  ]);
  const isNested = random() < 0.5;
  return Array.from({ length: count }, (_, at) => {
    const field = { [nameOf(at)]: sample.slice(at * length, (at + 1) * length) };
    return isNested ? message(JSON.stringify(field)) : { role: 'tool', ...field };
  });
}

t.test('whatever is said in however many turns, each shows all that it shows by itself', async (t) => {
  let known = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomBy(seed);
    const piece = piecesBy(random);
    const by = newMemory();
    const messages: Message[] = [message(filler(9000, seed))];
    const pieces: Message[] = [];
    for (let turn = 0; turn < 6; turn++) {
      // The last messages are taken back, as when an answer is generated anew.
      if (turn > 1 && random() < 0.3) messages.splice(-1 - Math.floor(random() * 4));
      for (let count = 1 + Math.floor(random() * 3); count > 0; count--) {
        if (random() < 0.2) pieces.push(...seriesBy(random));
        messages.push(...pieces.splice(0, Math.floor(random() * 3)));
        const content = Array.from({ length: 1 + Math.floor(random() * 4) }, piece).join(
          random() < 0.5 ? ' ' : '\n',
        );
        messages.push(
          random() < 0.2
            ? { role: 'tool', [random() < 0.5 ? 'password' : 'content']: [content, piece()] }
            : message(content),
        );
      }
      const body = conversation(messages);
      if (beginningOf({ bytes: body }, engine, by)?.known.from !== undefined) known += 1;
      t.same(missing(readWhole(body), readWhole(body, by)), [], `conversation ${seed}, turn ${turn}`);
    }
  }
  t.ok(known > 60, `${known} of 240 turns were read on`);
});
