import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Command } from 'commander';
import type { Gateway } from '../../daemon/gateway.ts';
import { NoAddressError } from '../connection/addresses.ts';
import type { CommonOptions } from '../connection/client.ts';
import type { WayOut } from '../connection/way-out.ts';

type Variables = WayOut['variables'];

/** `postern run -- CMD`: runs a program whose calls leave through the gate; starts a gate of its own where none runs. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description('run a command whose calls leave through the gate')
    .argument('<command...>', 'the command and its arguments, after --')
    .action(async (command: string[]) => {
      const options = program.opts<CommonOptions>();
      const standing = await standingVariables(options);
      const gateway = standing ? undefined : await startOwn(options.config);
      try {
        const variables = standing ?? (await variablesOf(gateway, options));
        process.exitCode = await runCommand(command, variables);
      } finally {
        await gateway?.stop();
      }
    });
}

async function startOwn(config: string | undefined): Promise<Gateway> {
  const { startGateway } = await import('../../daemon/gateway.ts');
  return startGateway(config, process.env);
}

/** The way through the daemon that runs already; undefined where none does. */
async function standingVariables(options: CommonOptions): Promise<Variables | undefined> {
  const { stands, toldWay, wayOfShell } = await import('../connection/way-out.ts');
  const ofShell = options.config === undefined && options.url === undefined ? wayOfShell() : undefined;
  if (ofShell) return (await stands(ofShell)) ? ofShell.variables : undefined;
  const way = await toldWay(options).catch((error: unknown) => {
    // A free port cannot be known beforehand.
    if (error instanceof NoAddressError) return undefined;
    throw error;
  });
  if (way && (await stands(way))) return way.variables;
  const named = options.url ?? process.env['POSTERN_URL'];
  const { isAnswering } = await import('../connection/client.ts');
  // A second gate beside the one that was meant would judge by other rules.
  if (named && named !== way?.url && (await isAnswering({ url: named })))
    throw new Error(
      'a daemon answers there, and nothing says where its proxy is: name its configuration with --config, or export what "postern env" prints beside it.',
    );
  return undefined;
}

async function variablesOf(gateway: Gateway | undefined, { config }: CommonOptions): Promise<Variables> {
  const { noKey } = await import('../connection/remedies.ts');
  const key = gateway?.firstStart?.keyText ?? process.env['POSTERN_KEY'];
  if (!gateway || !key) throw new Error(noKey('the command', config));
  const { variablesFor } = await import('../connection/way-out.ts');
  return variablesFor({ url: gateway.controlUrl, proxy: gateway.proxyUrl, key, ca: gateway.caFile });
}

/** Runs to the end; answers its exit code, or 128 plus the signal's number as shells do. */
function runCommand([name = '', ...args]: readonly string[], variables: Variables): Promise<number> {
  return new Promise((done, failed) => {
    // The command gets the key that it calls with, and never the secret that is above all keys.
    const { SERVICE_API_KEYS_ADMIN_SECRET: _, POSTERN_KEY: __, ...own } = process.env;
    const child = spawn(name, args, { stdio: 'inherit', env: { ...own, ...variables } });
    child.once('error', (error) => failed(new Error(`cannot run ${name}: ${error.message}`)));
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => child.kill(signal));
  });
}
