import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createNoise } from '../support/noise.ts';
import { awsKeyId } from '../support/secrets.ts';

const url = 'https://notes.test.example/v1/notes';

/** Pieces of tokens, never whole in this file: behind the prefix those of AWS have 16 characters, of GitLab 20, of GitHub 36. */
const aws = [`AKIA${'Q7RT2MXW'}`, '5LKD3VNB'] as const;
const gitlab = [`glpat-${'aB3dE5'}`, 'gH7jK9mN1pQ2rS'] as const;

const github = [`ghp_${'x7Qm2LpR9sVt4'}`, 'Kd8Wz3Yb6Nc1Hf5Jg0TaQ2e'] as const;

const anthropic = [
  `sk-ant-${'api03-cT7pLw2ZQx9vN4mRk8Yd3HsJ6fBg1UaEo5'}`,
  'Wz0Ki_Vt7Xq2Lb9Nc4Pm8Rj3Dh6Fg1Sy5Ue-Oa0TkMw2Qv7Zx9Jn4Bp8Cr3AA',
] as const;
const slack = [`xoxb-${'718203946571-80213'}`, '55790124-dT4mQ9xLw2ZrK7pVn3Yc8HbS'] as const;
const stripe = [`sk_live_${'51Hq8Zt'}`, 'Lw3Nv9Xc2Rm7Kp4D'] as const;

interface Sent {
  readonly url?: string;
  readonly agent_id?: string;
}

/** A gateway whose tenant asks for secrets that are split over calls. */
const startFinding = (t: Test): Promise<TestGateway> =>
  startTestGateway(t, {
    config: {
      tenants: [
        {
          id: 'acme',
          plan: 'enterprise',
          environments: ['production', 'staging'],
          detectors: { split_calls: true },
        },
      ],
    },
  });

/** Asks about one call with such a note in it. */
const send = async (gateway: TestGateway, note: string, fields: Sent = {}) =>
  (await gateway.api('POST', '/v1/scan', { method: 'POST', url, body: { title: 'x', note }, ...fields }))
    .body;

t.test('secrets split over calls are not looked for unless the tenant asks for it', async (t) => {
  const gateway = await startTestGateway(t);
  for (const [one, two] of [aws, gitlab, github])
    for (const note of [one, two]) t.match(await send(gateway, note), { decision: 'ALLOW', findings: [] });
  t.match(await send(gateway, gitlab.join('')), { decision: 'SANITIZE' }, 'whole ones are');
});

t.test('the verifier of a token request is not cut as the rest of a secret', async (t) => {
  const gateway = await startTestGateway(t);
  const token = 'https://auth.test.example/token';
  const random = createNoise(7);
  for (const [begun] of [aws, gitlab, github, anthropic, slack, stripe])
    await send(gateway, begun, { url: token });
  for (let count = 0; count < 40; count++) {
    const fields = {
      grant_type: 'authorization_code',
      code: 'c',
      code_verifier: random(32).toString('base64url'),
    };
    const body = new URLSearchParams(fields).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const scanned = await gateway.api('POST', '/v1/scan', { method: 'POST', url: token, headers, body });
    t.match(scanned.body, { decision: 'ALLOW', findings: [] });
  }
});

t.test('a secret that is sent in two calls is stopped at the second one', async (t) => {
  const gateway = await startFinding(t);
  for (const [index, [one, two]] of [aws, gitlab, github, anthropic, slack, stripe].entries()) {
    const there = { url: `https://notes-${index}.test.example/` };
    t.match(
      await send(gateway, two, there),
      { decision: 'ALLOW', findings: [] },
      'the end alone says nothing',
    );
    t.match(await send(gateway, one, there), { decision: 'ALLOW', findings: [] }, 'nor does the beginning');
    const last = await send(gateway, two, there);
    t.match(last, {
      decision: 'SANITIZE',
      classifications: ['SECRETS'],
      findings: [{ class: 'SECRETS', confidence: 'medium', location: 'body:$.note' }],
      sanitized_body: { title: 'x', note: /^\[REDACTED:/ },
    });
    t.match(last.explanation.join(' '), /the rest of what earlier calls began/);
  }
});

t.test('a secret that is sent in three calls is stopped at the last one', async (t) => {
  const gateway = await startFinding(t);
  const decisions = [];
  for (const piece of [gitlab[0], 'gH7jK9mN', '1pQ2rS'])
    decisions.push((await send(gateway, piece)).decision);
  t.same(decisions, ['ALLOW', 'ALLOW', 'SANITIZE']);
});

t.test('words around the pieces hide nothing', async (t) => {
  const gateway = await startFinding(t);
  for (const [index, [one, two]] of [aws, gitlab, github, anthropic, slack, stripe].entries()) {
    const there = { url: `https://notes-${index}.test.example/` };
    t.match(await send(gateway, `the first half is ${one}`, there), { decision: 'ALLOW' });
    t.match(await send(gateway, `and the second half: **${two}**. Done`, there), {
      decision: 'SANITIZE',
      sanitized_body: { note: /^and the second half: \*\*\[REDACTED:[\w-]+\]\*\*\. Done$/ },
    });
  }
});

const noise = createNoise();
const digits = (count: number): string => Array.from(noise(count), (byte) => byte % 10).join('');
/** Each is a conversation of one agent with one host, in which somebody also tells how a key begins. */
const ordinary: { name: string; notes: () => string[] }[] = [
  {
    name: 'of UUIDs, digests and times',
    notes: () => [
      `the old key was ${gitlab[0]}`,
      randomUUID(),
      `commit ${noise(20).toString('hex')} of ${new Date().toISOString()}`,
      `etag ${noise(16).toString('hex')}, trace 00-${noise(16).toString('hex')}-01`,
    ],
  },
  {
    name: 'of ids with prefixes',
    notes: () => [
      `we rotate ${stripe[0]}`,
      `cus_${'N8dKq2LmX0zTrY'} paid pi_${'3MtwBwLkdIwHu7ix28a3tqPa'}`,
      `order ${digits(12)} from eu-west-1, build v1.24.${digits(5)}`,
      'kube-system/coredns-worker and getUserAccessTokenFromEnvironment',
    ],
  },
  {
    name: 'of keys and files in base64',
    notes: () => [
      `we rotate ${stripe[0]}`,
      (
        noise(300)
          .toString('base64')
          .match(/.{1,64}/g) ?? []
      ).join('\n'),
      `data:image/png;base64,${noise(3000).toString('base64')}`,
    ],
  },
  {
    name: 'of pages and their tokens',
    notes: () => [
      `we rotate ${stripe[0]}`,
      `{"next_page_token":"${noise(27).toString('base64url')}","etag":"${noise(15).toString('base64url')}"}`,
      `const m${noise(12).toString('hex')}Q = require("./x${noise(15).toString('base64url')}")`,
    ],
  },
  {
    name: 'of short ids and names',
    notes: () => [
      `key ids begin like ${aws[0]}`,
      'channel C04QJ7ZX2K, user U0A1B2C3D4E',
      'PROJ-1234 in REGION7 for CUSTOMER42',
      `https://docs.example/v1/d/${digits(9)}/edit`,
    ],
  },
];

for (const { name, notes } of ordinary) {
  t.test(`a conversation ${name} passes`, async (t) => {
    const gateway = await startFinding(t);
    for (const note of notes()) t.match(await send(gateway, note), { decision: 'ALLOW', findings: [] }, note);
  });
}

t.test(
  'none of many random words of encoded data is the rest of a key, and each of a few may be',
  async (t) => {
    const gateway = await startFinding(t);
    const [begun, rest] = gitlab;
    await send(gateway, begun);
    const parts = Array.from({ length: 40 }, (_, index) =>
      index === 20 ? rest : `k${noise(9).toString('hex')}Q`,
    );
    t.match(await send(gateway, parts.join('/')), { decision: 'ALLOW', findings: [] });
    t.match(await send(gateway, parts.slice(15, 25).join('/')), { decision: 'SANITIZE' });
  },
);

t.test('what follows in the address of a call denies it', async (t) => {
  const gateway = await startFinding(t);
  await send(gateway, aws[0]);
  const answer = await send(gateway, 'nothing here', { url: `${url}?n=${aws[1]}` });
  t.match(answer, { decision: 'DENY', reason_codes: /UNSANITIZABLE/ });
});

t.test('what was begun elsewhere, or by others, or was not let out, is not looked for', async (t) => {
  const gateway = await startFinding(t);
  await gateway.apply([
    { id: 'no-letters', action: 'DENY', match: { url_patterns: ['https://denied.test.example/'] } },
  ]);
  const [one, two] = aws;
  await send(gateway, one);
  await send(gateway, one, { url: 'https://denied.test.example/' });
  const apart = [
    await send(gateway, two, { url: 'https://other.test.example/' }),
    await send(gateway, two, { agent_id: randomUUID() }),
  ];
  for (const answer of apart) t.match(answer, { decision: 'ALLOW', findings: [] });
  t.match(await send(gateway, two, { url: 'https://denied.test.example/' }), { findings: [] });
  t.match(await send(gateway, two), { decision: 'SANITIZE' });
});

t.test('other values of the calls behind it pass', async (t) => {
  const gateway = await startFinding(t);
  await send(gateway, aws[0]);
  const passing = [
    'LANTERNS',
    '20261121',
    randomUUID(),
    'ab12CD34',
    'A2B3C4D5E',
    'A2B3C4D',
    'a note about ab12CD34 and more',
    'LANTERNS, GARDENS and KUBECTLS',
  ];
  for (const note of passing) t.match(await send(gateway, note), { decision: 'ALLOW', findings: [] }, note);
  t.match(await send(gateway, aws[1]), { decision: 'SANITIZE' });
});

t.test('nothing of a piece is kept', async (t) => {
  const gateway = await startFinding(t);
  const piece = awsKeyId().slice(0, 14);
  await send(gateway, piece);
  await gateway.stop();
  const files = readdirSync(gateway.dir, { recursive: true, withFileTypes: true }).filter((it) =>
    it.isFile(),
  );
  t.ok(files.length > 2);
  for (const file of files) {
    const bytes = readFileSync(join(file.parentPath, file.name));
    t.notOk(bytes.includes(piece), file.name);
  }
});
