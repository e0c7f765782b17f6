import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openServiceManager } from '../../src/cli/service-manager.ts';
import { startDaemon } from '../support/daemon.ts';
import { writeTestConfig } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { until } from '../support/redis.ts';

/** What a service manager does with its socket: writes down each message that comes. */
const manager = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], 'ab', 0) as log:
    print('bound', flush=True)
    while True:
        log.write(s.recv(4096).replace(b'\\n', b' ') + b'\\n')
`;

t.test('a service manager is told of readiness, life, reloads and the end', async (t) => {
  if (!needProgram(t, 'python3') || !needProgram(t, 'systemd-notify')) return;
  const { dir, configFile } = writeTestConfig(t, {});
  const [socket, log] = [join(dir, 'notify'), join(dir, 'notified')];
  writeFileSync(log, '');
  const listening = spawn('python3', ['-c', manager, socket, log], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void listening.kill('SIGKILL'));
  await once(listening.stdout, 'data');
  const told = () => readFileSync(log, 'utf8');
  const before = { ...process.env };
  Object.assign(process.env, { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '3000000' });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC'])
    if (before[name] === undefined) delete process.env[name];
  await until('it is ready', async () => /^READY=1 STATUS=proxy http/m.test(told()));
  await until('it is alive', async () => told().includes('WATCHDOG=1'));
  writeFileSync(configFile, `${readFileSync(configFile, 'utf8')}limitz: {}\n`);
  daemon.process.kill('SIGHUP');
  await until('it reloads', async () => /^RELOADING=1 MONOTONIC_USEC=\d+/m.test(told()));
  await until('it has refused', async () => /^READY=1 STATUS=the configuration was refused/m.test(told()));
  t.equal(await daemon.end('SIGTERM'), 0);
  t.match(told(), /^STOPPING=1/m);
});

t.test('a manager hears one thing after another, however long a message takes', async (t) => {
  const slow = '#!/bin/sh\n[ "$1" = READY=1 ] || sleep 0.2\nprintf "%s " "$1" >> "$NOTIFY_SOCKET"\n';
  const dir = t.testdir({ 'systemd-notify': slow });
  chmodSync(join(dir, 'systemd-notify'), 0o700);
  const log = join(dir, 'notified');
  const before = { ...process.env };
  Object.assign(process.env, { NOTIFY_SOCKET: log, PATH: `${dir}:${before['PATH']}` });
  t.teardown(() => {
    process.env = before;
  });
  const manager = openServiceManager(process.env);
  manager.reloading();
  manager.ready('reloaded');
  const told = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  await until('both have come', async () => told().includes('RELOADING') && told().includes('READY'));
  t.match(told(), /^RELOADING=1 READY=1 $/);
});
