import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Gateway } from '../../gateway/gateway.ts';

/** `postern run -- CMD`: runs a program whose calls leave through the gate; starts a gate of its own where none runs. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description('run a command whose calls leave through the gate')
    .argument('<command...>', 'the command and its arguments, after --')
    .action(async (command: string[]) => {
      const { config } = program.opts<{ config?: string }>();
      const standing = await standingVariables();
      const gateway = standing ? undefined : await startOwn(config);
      const variables = standing ?? (await variablesOf(gateway));
      try {
        process.exitCode = await runCommand(command, variables);
      } finally {
        await gateway?.stop();
      }
    });
}

async function startOwn(config: string | undefined): Promise<Gateway> {
  const { startGateway } = await import('../../gateway/gateway.ts');
  return startGateway(config, process.env);
}

/** The exports of the daemon that runs already, if one answers. */
async function standingVariables(): Promise<Record<string, string> | undefined> {
  const file = resolve('data', 'first-start.env');
  const { HTTPS_PROXY: proxy, POSTERN_URL: named, POSTERN_CA: ca } = process.env;
  const { clientVariables, readExports } = await import('../../gateway/first-start.ts');
  const made = existsSync(file) ? Object.fromEntries(readExports(readFileSync(file, 'utf8'))) : {};
  const url = named ?? made['POSTERN_URL'];
  if (url === undefined || !(await answers(url))) return undefined;
  const proxyUrl = proxy ?? made['HTTPS_PROXY'];
  const caFile = ca ?? made['POSTERN_CA'];
  return proxyUrl && caFile ? clientVariables(proxyUrl, caFile) : undefined;
}

const answerTimeoutMs = 2000;

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(answerTimeoutMs) });
    return response.ok;
  } catch {
    // Nobody there: that is the question.
    return false;
  }
}

async function variablesOf(gateway: Gateway | undefined): Promise<Record<string, string>> {
  const key = gateway?.firstStart?.keyText ?? process.env['POSTERN_KEY'];
  if (!gateway || !key) throw new Error('set POSTERN_KEY to the key that the command shall use.');
  const { clientVariables } = await import('../../gateway/first-start.ts');
  return clientVariables(gateway.proxyUrl.replace('://', `://agent:${key}@`), gateway.caFile);
}

/** Runs to the end; answers its exit code, or 128 plus the signal's number as shells do. */
function runCommand(
  [name = '', ...args]: readonly string[],
  variables: Record<string, string>,
): Promise<number> {
  return new Promise((done, failed) => {
    // The command gets the way out, not the keys to the gate.
    const { SERVICE_API_KEYS_ADMIN_SECRET: _, POSTERN_KEY: __, ...own } = process.env;
    const child = spawn(name, args, { stdio: 'inherit', env: { ...own, ...variables } });
    child.once('error', (error) => failed(new Error(`cannot run ${name}: ${error.message}`)));
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => child.kill(signal));
  });
}
