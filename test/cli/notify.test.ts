import t from 'tap';
import { entry } from '../notify/desk.ts';
import { startReceiver } from '../notify/receiver.ts';
import { agentId, apiClient, denyDeletes, writeTestConfig } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { operatorOf, startHere } from './support.ts';

/* What an operator does about channels with the command line. */

const receiver = await startReceiver(t);
const { configFile } = writeTestConfig(t, {
  config: { notifications: [entry('hook', receiver.url, { events: ['decision.deny'] })] },
  policyFiles: { 'deny.yaml': `name: deny\nrules: [${JSON.stringify(denyDeletes)}]\n` },
});
const daemon = await startHere(t, configFile);
const operator = operatorOf(daemon);

t.test('a test says whether it has reached the channel', async (t) => {
  const done = await operator(['notify', 'test', 'hook']);
  t.match(done, { code: 0, stdout: 'The test has reached hook.\n' });
  t.equal(receiver.received.length, 1);
  receiver.answer(() => 500);
  const failed = await operator(['notify', 'test', 'hook']);
  t.equal(failed.code, 1);
  t.match(failed.stderr, /the test did not reach hook: .*500/);
  t.match(await operator(['notify', 'test', 'nobody']), { code: 1, stderr: /no such channel/ });
  t.equal((await operator(['notify', 'test'])).code, 2);
});

t.test('what failed is listed, and tried again', async (t) => {
  receiver.answer(() => 410);
  const key = (await operator(['key', 'mint', '--name', 'agent', '--agent', agentId])).stdout.trim();
  const call = { method: 'DELETE', url: 'https://api.github.com/repos/acme/app' };
  const api = apiClient(daemon.controlUrl);
  for (let at = 0; at < 2; at += 1) await api('POST', '/v1/scan', call, `Bearer ${key}`);
  const failed = async () => JSON.parse((await operator(['--json', 'notify', 'failed'])).stdout).items;
  await until('two that failed', async () => (await failed()).length === 2);
  t.match((await operator(['notify', 'list'])).stdout, /hook +webhook .*closed/);
  t.match((await operator(['notify', 'failed', '--channel', 'hook'])).stdout, /hook +decision\.deny .*410/);
  receiver.answer(() => 200);
  const before = receiver.taken().length;
  const [{ id }] = await failed();
  t.match(await operator(['notify', 'replay', id]), { code: 0, stdout: '1 are in the queue again.\n' });
  t.match(await operator(['notify', 'replay', '--channel', 'hook']), { code: 0 });
  await until('both', async () => receiver.taken().length === before + 2);
  t.equal((await operator(['notify', 'replay'])).code, 2, 'which one?');
  t.equal((await operator(['notify', 'replay', id, '--channel', 'hook'])).code, 2);
});
