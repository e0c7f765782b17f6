import t from 'tap';
import type { Inspection } from '../../../src/core/call.ts';
import type { Log } from '../../../src/core/log.ts';
import { safely } from '../../../src/core/safe-name.ts';
import {
  nameLengthMax,
  readName,
  safeNamesOf,
  shownOperation,
} from '../../../src/decision/trace/safe-names.ts';
import { ownTables } from '../../../src/tenants/catalogues.ts';
import { engine } from '../../support/detectors.ts';
import { awsKeyId, gitlabToken } from '../../support/secrets.ts';

const safeName = safeNamesOf(engine);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

t.test('an ordinary name is kept, without what steers a terminal', async (t) => {
  const names = ['support-bot', 'Ann’s agent (2)', 'svc.billing/eu-west-1', 'sk-test-agent', 'Zażółć', ''];
  for (const name of [...names, ...names]) t.equal(safeName(name), name);
  t.equal(safeName('bot\u001b[31m\u202e'), 'bot[31m');
  t.equal(safeName('db.corp.internal'), 'db.corp.internal', 'that something is our own is nothing to hide');
});

t.test('every name of the catalogue is kept as it is', async (t) => {
  const { tools } = ownTables().catalogue();
  const names = tools.flatMap((tool) => [
    tool.name,
    ...tool.operations.flatMap(({ name, category }) => [name, category]),
  ]);
  t.ok(names.length > 1000);
  t.same(
    names.filter((it) => safeName(it) !== it),
    [],
  );
});

const token = gitlabToken();
const hidden: { name: string; text: string }[] = [
  { name: 'a secret', text: token },
  { name: 'a secret in base64', text: base64(token) },
  { name: 'a secret in hexadecimal digits', text: Buffer.from(token).toString('hex') },
  { name: 'a secret in base64 twice', text: base64(base64(token)) },
  { name: 'a secret with a blank that has no width', text: `${token.slice(0, 12)}\u200b${token.slice(12)}` },
  { name: 'the beginning of a secret', text: token.slice(0, 16) },
  { name: 'the beginning of one in base64', text: base64(token.slice(0, 18)) },
];

for (const { name, text } of hidden) {
  t.test(`${name} is cut out of a name`, async (t) => {
    t.match(safeName(`bot ${text}`), /^bot \[REDACTED:gitlab-token\]$/);
    t.match(safeName(`bot ${text}`), /^bot \[REDACTED:gitlab-token\]$/, 'each time');
  });
}

t.test('a secret is cut out of a name where the bound on its length cuts it in two', async (t) => {
  const name = safeName(`${'a '.repeat(nameLengthMax / 2 - 8)}${token}`);
  t.notMatch(name, token.slice(0, 10));
  t.ok(name.length <= nameLengthMax + '[REDACTED:gitlab-token]…'.length);
});

t.test('what could not be read in time is not kept', async (t) =>
  t.equal(
    readName(engine, `bot ${base64('a name like any other')}`, () => true),
    '[REDACTED:unread]',
  ),
);

t.test('a name that was made of a secret in another case does not show it', async (t) => {
  const said = awsKeyId();
  t.equal(shownOperation({ safeName }, { name: said.toLowerCase(), said }), '[REDACTED:aws-access-key-id]');
  t.equal(shownOperation({ safeName }, { name: 'put_item', said: 'PutItem' }), 'put_item');
});

t.test('what keeps or shows names takes none that was not read', async (t) => {
  const name: string = gitlabToken();
  // The compiler fails where one of these lines is no mistake any more.
  const refused = (inspection: Inspection, log: Log): Inspection => {
    // @ts-expect-error a sentence quotes a name
    safely`the tool ${name}`;
    // @ts-expect-error a line of the log
    log.warn({ host: name }, 'a tunnel ended');
    // @ts-expect-error an agent's name
    return { ...inspection, agentName: name };
  };
  t.type(refused, 'function');
});
