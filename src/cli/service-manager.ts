import { execFile } from 'node:child_process';

/*
 * Tells a service manager (sd_notify(3)) that the daemon is ready, reloads, stops, and is alive. Node has no
 * datagram sockets of the Unix domain, so `systemd-notify` sends the messages. The unit allows that with
 * NotifyAccess=all.
 */

export interface ServiceManager {
  ready(status: string): void;
  reloading(): void;
  stopping(): void;
}

const nobody: ServiceManager = { ready() {}, reloading() {}, stopping() {} };

/** Returns the manager that has started this process; nobody is told where none has. */
export function openServiceManager(env: NodeJS.ProcessEnv): ServiceManager {
  if (!env['NOTIFY_SOCKET']) return nobody;
  const send = (lines: readonly string[]): Promise<void> =>
    // A message that cannot be sent is no reason to stop. A manager that waits in vain ends the daemon by
    // itself.
    new Promise((done) => void execFile('systemd-notify', lines, { timeout: 10_000 }, () => done()));
  let last = Promise.resolve();
  // Messages go one after another. A READY=1 before the RELOADING=1 that it ends would leave the manager
  // waiting.
  const tell = (...lines: string[]): void => {
    last = last.then(() => send(lines));
  };
  const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / 1000;
  // A daemon whose event loop stands still tells nothing, and is started anew.
  if (watchdogMs > 0) setInterval(() => void send(['WATCHDOG=1']), Math.max(watchdogMs / 3, 1_000)).unref();
  return {
    ready: (status) => tell('READY=1', `STATUS=${status}`),
    reloading: () => tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => tell('STOPPING=1', 'STATUS=draining'),
  };
}
