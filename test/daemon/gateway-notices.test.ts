import pino from 'pino';
import t from 'tap';
import { ownName } from '../../src/core/safe-name.ts';
import { configReloaded, feedFailed, withErrorsTold } from '../../src/daemon/gateway-notices.ts';
import type { Notice } from '../../src/notify/notice.ts';

function openLog(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

t.test('an error in the log is told, each sentence once a minute', async (t) => {
  const { log, lines } = openLog();
  const told: Notice[] = [];
  let nowMs = 1_800_000_000_000;
  const hooked = withErrorsTold(
    log,
    (it) => void told.push(it),
    () => nowMs,
  );
  hooked.error({ err: new Error('secret text'), agent: ownName('x') }, 'a thing failed');
  hooked.error({ err: new Error('secret text') }, 'a thing failed');
  hooked.error({}, 'another thing failed');
  hooked.warn({}, 'a warning');
  t.match(lines, [
    { level: 50, msg: 'a thing failed', agent: 'x' },
    { level: 50, msg: 'a thing failed' },
    { msg: 'another thing failed' },
    { level: 40, msg: 'a warning' },
  ]);
  t.match(told, [
    { kind: 'gateway.error', severity: 'HIGH', tenantId: null, summary: /: a thing failed$/ },
    { summary: /: another thing failed$/ },
  ]);
  t.equal(told.length, 2);
  t.notMatch(JSON.stringify(told), /secret text/);
  nowMs += 60_000;
  hooked.error({}, 'a thing failed');
  t.equal(told.length, 3);
  t.not(told[2]?.noticeId, told[0]?.noticeId);
});

t.test('no more sentences are remembered than there is room for', async (t) => {
  const { log } = openLog('silent');
  let told = 0;
  const hooked = withErrorsTold(
    log,
    () => {
      told += 1;
    },
    () => 1,
  );
  for (let at = 0; at < 1_000; at += 1) hooked.error({}, `sentence ${at}`);
  t.equal(told, 1_000, 'told although nothing is written');
  hooked.error({}, 'sentence 0');
  t.equal(told, 1_001, 'what was forgotten is told again');
});

t.test('what happens to all workers of a daemon has one id', async (t) => {
  t.equal(configReloaded(3, 1_800_000_000_000).noticeId, configReloaded(3, 1_800_000_000_000).noticeId);
  t.not(configReloaded(3, 1_800_000_000_000).noticeId, configReloaded(4, 1_800_000_000_000).noticeId);
  const failed = feedFailed('urlhaus', 'failed', 1_800_000_000_000);
  t.match(failed, { kind: 'feed.failed', tenantId: null, data: { feed: 'urlhaus', status: 'failed' } });
  t.equal(failed.noticeId, feedFailed('urlhaus', 'failed', 1_800_000_000_900).noticeId);
  t.match(failed.noticeId, /^[^.]{1,128}$/);
});
