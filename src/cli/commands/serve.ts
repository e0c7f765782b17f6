import type { Command } from 'commander';
import type { Gateway } from '../../daemon/gateway.ts';

/** `postern serve`: the daemon, in the foreground. SIGHUP reloads; SIGTERM and SIGINT drain, a second one ends at once. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the daemon in the foreground')
    .action(async () => {
      const { config, json } = program.opts<{ config?: string; json?: boolean }>();
      const { startDaemon } = await import('../../daemon/start/start.ts');
      const gateway = await startDaemon(config, process.env);
      announce(gateway, json ?? false);
      obeySignals(gateway);
    });
}

function announce(gateway: Gateway, json: boolean): void {
  const { proxyUrl, controlUrl, caFile, firstStart, nextSteps } = gateway;
  if (json) {
    // Before a script takes the daemon for ready, and looks no further.
    for (const step of nextSteps) gateway.log.warn({}, step);
    console.log(
      JSON.stringify({ event: 'ready', proxy: proxyUrl, control: controlUrl, ca: caFile, pid: process.pid }),
    );
    return;
  }
  console.log(`postern is ready: proxy ${proxyUrl}, control ${controlUrl}, authority ${caFile}`);
  for (const step of nextSteps) console.log(step);
  if (!firstStart || nextSteps.length > 0) return;
  console.log(
    firstStart.isNew
      ? `\nThis was the first start. Agents leave through the gate with:\n\n${firstStart.exports}\nThe same stands in ${firstStart.file}, for you alone:  . ${firstStart.file}`
      : `Key, secret and exports are in ${firstStart.file}; "postern env" prints them.`,
  );
}

function obeySignals(gateway: Gateway): void {
  let isStopping = false;
  const stop = async (): Promise<void> => {
    isStopping = true;
    try {
      await gateway.stop();
      gateway.log.info({}, 'stopped');
    } catch (error) {
      gateway.log.error({ err: error }, 'the stop failed');
      process.exitCode = 1;
    }
  };
  const obey = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(1);
    gateway.log.info({ signal }, 'draining');
    void stop();
  };
  void gateway.broken.then((error) => {
    gateway.log.fatal({ err: error }, 'the daemon cannot go on and ends');
    process.exitCode = 1;
    return isStopping ? undefined : stop();
  });
  process.on('SIGTERM', obey);
  process.on('SIGINT', obey);
  process.on('SIGHUP', () => void gateway.reload());
  // Whatever nobody caught is a bug. What was acknowledged is on disk; a gate in an unknown state must not go on judging.
  process.on('uncaughtException', (error) => {
    gateway.log.fatal({ err: error }, 'a bug: the daemon ends');
    process.exit(1);
  });
}
