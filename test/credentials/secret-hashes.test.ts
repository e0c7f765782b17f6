import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { Finding } from '../../src/core/call.ts';
import { createSecretHashes, hashesMax } from '../../src/credentials/secret-hashes.ts';
import { callOf, findingOf, identityOf } from '../support/call.ts';
import { tenantSecrets } from '../support/noticing.ts';

const hashSecrets = createSecretHashes(tenantSecrets.credentialKey);
const secret = () => randomBytes(12).toString('hex');

/** A call whose body is made of these texts, each of which was found in it. */
function hashesOf(
  texts: readonly string[],
  fields: (at: number) => Partial<Finding> = () => ({}),
  tenantId = 'acme',
): readonly string[] {
  let start = 0;
  const findings = texts.map((text, at) => {
    start += text.length;
    return findingOf({ start: start - text.length, end: start, ...fields(at) });
  });
  const body = Buffer.from(texts.join(''));
  return hashSecrets(callOf({ body, findings, identity: identityOf({ tenantId }) }));
}

t.test('credentials are known again by keyed hashes, each once', async (t) => {
  const [one, two] = [secret(), secret()];
  const hashes = hashesOf([one, two, one]);
  t.equal(hashes.length, 2);
  for (const it of hashes) t.match(it, /^[\w-]{12}$/);
  t.same(hashesOf([two, one]), hashes.toReversed(), 'wherever they stand');
  for (const it of hashesOf([one], undefined, 'beta')) t.notOk(hashes.includes(it), 'in one tenant alone');
});

t.test('those at home are nothing to be remembered', async (t) => {
  t.same(
    hashesOf([secret(), secret(), secret()], () => ({ atHome: true, kind: 'github-token' })),
    [],
  );
});

t.test('they are found in the head as in the body', async (t) => {
  const one = secret();
  const inHead = [findingOf({ part: 'head', start: 2, end: 2 + one.length })];
  t.same(hashSecrets(callOf({ head: Buffer.from(`x ${one}`), findings: inHead })), hashesOf([one]));
  const inBody = [findingOf({ start: 0, end: one.length })];
  const decoded = callOf({ plain: Buffer.from(one), findings: inBody });
  t.same(hashSecrets(decoded), hashesOf([one]), 'and in a body as it was decoded');
});

t.test('what is no credential, or may be none, has no hash', async (t) => {
  t.same(hashesOf([]), []);
  t.same(
    hashesOf([secret()], () => ({ class: 'PII' })),
    [],
  );
  t.same(
    hashesOf([secret()], () => ({ confidence: 'low' })),
    [],
  );
});

t.test('a call has so many, and repeating one hides no other', async (t) => {
  const many = Array.from({ length: hashesMax + 10 }, secret);
  t.equal(hashesOf(many).length, hashesMax);
  const one = secret();
  const repeated = Array.from({ length: hashesMax }, () => one);
  t.same(hashesOf([...repeated, ...many.slice(0, 3)]), hashesOf([one, ...many.slice(0, 3)]));
});

t.test('one credential that several detectors find is one', async (t) => {
  const [user, password, other] = [secret(), secret(), secret()];
  const body = Buffer.from(`${user}:${password} ${other}`);
  const [colon, blank] = [user.length, body.indexOf(' ')];
  const spans: readonly [number, number][] = [
    [colon + 1, blank],
    [0, blank],
    [0, colon],
    [blank + 1, body.length],
  ];
  const findings = spans.map(([start, end]) => findingOf({ start, end }));
  t.equal(hashSecrets(callOf({ body, findings })).length, 2);
  const elsewhere = findingOf({ part: 'head', start: 0, end: blank });
  t.equal(
    hashSecrets(callOf({ body, head: Buffer.from(`x${body}`), findings: [...findings, elsewhere] })).length,
    3,
    'what stands in another part is another one',
  );
});
