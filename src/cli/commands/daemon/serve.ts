import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Command } from 'commander';
import { withSetting } from '../../../config/origins.ts';
import { ownName } from '../../../core/safe-name.ts';
import type { Gateway } from '../../../daemon/gateway.ts';
import type { FirstStart } from '../../../daemon/start/first-start.ts';
import { version } from '../../../util/version.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { openServiceManager, type ServiceManager } from '../../service-manager.ts';
import { ownCommand } from './own-command.ts';

interface ServeOptions extends CommonOptions {
  readonly listen?: string;
  readonly control?: string;
}

/** Adds `postern serve`, which runs the daemon in the foreground. SIGHUP reloads; SIGTERM, SIGINT drain. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the daemon in the foreground')
    .option(
      '--listen <address>',
      'address of the proxy, as 127.0.0.1:8080; port 0: a free one (POSTERN_LISTEN)',
    )
    .option('--control <address>', 'address of the control plane (POSTERN_CONTROL_LISTEN)')
    .action(async (_options: unknown, serve: Command) => {
      const { config, json, listen, control } = serve.optsWithGlobals<ServeOptions>();
      // Variables hold for reloads and for worker processes, too, so options are put into them.
      if (listen !== undefined) setByOption('POSTERN_LISTEN', listen, '--listen');
      if (control !== undefined) setByOption('POSTERN_CONTROL_LISTEN', control, '--control');
      const { startDaemon } = await import('../../../daemon/start/start.ts');
      const gateway = await startDaemon(config, process.env);
      const manager = openServiceManager(process.env);
      // Signals are obeyed before anybody learns that the daemon is ready, and may end it at once.
      obeySignals(gateway, manager);
      // People at a terminal are told on standard output that the daemon has started.
      if (!process.stderr.isTTY)
        gateway.log.info({ version: ownName(version()), proxy: ownName(gateway.proxyUrl) }, 'started');
      announce(gateway, json ?? false);
      manager.ready(`proxy ${gateway.proxyUrl}, control ${gateway.controlUrl}`);
    });
}

const setByOption = (variable: string, value: string, option: string): void => {
  Object.assign(process.env, withSetting(process.env, variable, value, option));
};

function announce(gateway: Gateway, json: boolean): void {
  const { proxyUrl, controlUrl, caFile, firstStart, nextSteps } = gateway;
  if (json) {
    // These come before a script takes the daemon for ready, and looks no further.
    for (const step of nextSteps) gateway.log.warn({}, step);
    console.log(
      JSON.stringify({ event: 'ready', proxy: proxyUrl, control: controlUrl, ca: caFile, pid: process.pid }),
    );
    return;
  }
  console.log(`postern is ready: proxy ${proxyUrl}, control ${controlUrl}, authority ${caFile}`);
  const passedOver = firstStart && existsSync('postern.yaml') ? [unused] : [];
  for (const sentence of [...(firstStart?.addresses.moved ?? []), ...passedOver, ...nextSteps])
    console.log(sentence);
  if (nextSteps.length === 0) console.log(firstStart ? toldFirstStart(firstStart, controlUrl) : whatNext);
}

const unused = `postern.yaml of this folder is not used, since nothing names it: ${ownCommand} --config postern.yaml serve`;
const whatNext = `Next: "${ownCommand} run -- CMD" leads a program through it; "${ownCommand} status" says how it is.`;

function toldFirstStart({ isNew, exports, file }: FirstStart, controlUrl: string): string {
  if (!isNew) return `Key, secret and exports are in ${file}; "${ownCommand} env" prints them. ${whatNext}`;
  return [
    '\nThis was the first start. Type next, in another terminal in this folder:\n',
    `  ${ownCommand} run -- CMD     a program whose calls leave through the gateway`,
    `  . ${relative('.', file)}   a whole shell, with the exports below`,
    `  ${ownCommand} trace tail     watch the calls`,
    `  ${ownCommand} doctor         what is enforced, and what is not`,
    `  ${ownCommand} init DIR       a configuration of your own\n`,
    `People look at ${controlUrl}/console, with the admin secret, which is the last of the exports.`,
    `The exports stay in ${file}, for you alone:\n\n${exports}`,
  ].join('\n');
}

function obeySignals(gateway: Gateway, manager: ServiceManager): void {
  let isStopping = false;
  const stop = async (): Promise<void> => {
    isStopping = true;
    manager.stopping();
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
  const reload = async (): Promise<void> => {
    manager.reloading();
    const isTaken = await gateway.reload();
    manager.ready(
      isTaken ? 'the configuration was reloaded' : 'the configuration was refused; the old one stays',
    );
  };
  process.on('SIGHUP', () => void reload());
  // An error that nobody caught is a bug. What was acknowledged is on disk, and a gateway in an unknown state
  // must not go on judging.
  process.on('uncaughtException', (error) => {
    gateway.log.fatal({ err: error }, 'a bug: the daemon ends');
    process.exit(1);
  });
}
