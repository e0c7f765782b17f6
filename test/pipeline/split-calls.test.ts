import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { awsKeyId } from '../support/secrets.ts';

const url = 'https://notes.test.example/v1/notes';

/** Pieces of tokens, never whole in this file: behind the prefix those of AWS have 16 characters, of GitLab 20, of GitHub 36. */
const aws = [`AKIA${'Q7RT2MXW'}`, '5LKD3VNB'] as const;
const gitlab = [`glpat-${'aB3dE5'}`, 'gH7jK9mN1pQ2rS'] as const;

const github = [`ghp_${'x7Qm2LpR9sVt4'}`, 'Kd8Wz3Yb6Nc1Hf5Jg0TaQ2e'] as const;

interface Sent {
  readonly url?: string;
  readonly agent_id?: string;
}

/** Asks about one call with such a note in it. */
const send = async (gateway: TestGateway, note: string, fields: Sent = {}) =>
  (await gateway.api('POST', '/v1/scan', { method: 'POST', url, body: { title: 'x', note }, ...fields }))
    .body;

t.test('a secret that is sent in two calls is stopped at the second one', async (t) => {
  const gateway = await startTestGateway(t);
  for (const [one, two] of [aws, gitlab, github]) {
    t.match(await send(gateway, two), { decision: 'ALLOW', findings: [] }, 'the end alone says nothing');
    t.match(await send(gateway, one), { decision: 'ALLOW', findings: [] }, 'nor does the beginning');
    const last = await send(gateway, two);
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
  const gateway = await startTestGateway(t);
  const decisions = [];
  for (const piece of [gitlab[0], 'gH7jK9mN', '1pQ2rS'])
    decisions.push((await send(gateway, piece)).decision);
  t.same(decisions, ['ALLOW', 'ALLOW', 'SANITIZE']);
});

t.test('what follows in the address of a call denies it', async (t) => {
  const gateway = await startTestGateway(t);
  await send(gateway, aws[0]);
  const answer = await send(gateway, 'nothing here', { url: `${url}?n=${aws[1]}` });
  t.match(answer, { decision: 'DENY', reason_codes: /UNSANITIZABLE/ });
});

t.test('what was begun elsewhere, or by others, or was not let out, is not looked for', async (t) => {
  const gateway = await startTestGateway(t);
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
  const gateway = await startTestGateway(t);
  await send(gateway, aws[0]);
  const passing = [
    'LANTERNS',
    '20261121',
    randomUUID(),
    'ab12CD34',
    'A2B3C4D5E',
    'A2B3C4D',
    'a note about A2B3C4D5 and more',
  ];
  for (const note of passing) t.match(await send(gateway, note), { decision: 'ALLOW', findings: [] }, note);
  t.match(await send(gateway, aws[1]), { decision: 'SANITIZE' });
});

t.test('nothing of a piece is kept', async (t) => {
  const gateway = await startTestGateway(t);
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
