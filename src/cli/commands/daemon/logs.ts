import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { integerArgument } from '../../ask.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { print, printable, toSafeJson } from '../../output.ts';

interface LogsOptions extends CommonOptions {
  readonly lines: number;
  readonly follow?: boolean;
  readonly level: keyof typeof levels;
}

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
const linesMax = 100_000;
const pollMs = 500;

/** Adds `postern logs`, which prints the log file of the daemon as text, or the journal of its service. */
export function addLogs(program: Command): void {
  program
    .command('logs')
    .description('print the log of the daemon: log.file, or the journal of the service')
    .option('-n, --lines <n>', 'the last so many', integerArgument, 50)
    .option('-f, --follow', 'go on as lines come')
    .addOption(new Option('--level <level>', 'not less severe').choices(Object.keys(levels)).default('trace'))
    .action(async (_options: unknown, logs: Command) => {
      const options = logs.optsWithGlobals<LogsOptions>();
      const { config } = await readAddresses(options.config);
      if (config.log.file === null) return showJournal(options);
      await showFile(config.log.file, options);
    });
}

async function showFile(file: string, options: LogsOptions): Promise<void> {
  const last: string[] = [];
  let read = 0;
  const lines = Math.min(options.lines, linesMax);
  const size = statSync(file).size;
  for await (const line of linesOf(file, 0, size)) {
    if (!isShown(line, options)) continue;
    last.push(line);
    if (last.length > lines) last.shift();
  }
  read = size;
  for (const line of last) await print(shown(line, options));
  while (options.follow) {
    const { size: now } = statSync(file);
    // A rotated file begins anew.
    if (now < read) read = 0;
    if (now > read)
      for await (const line of linesOf(file, read, now))
        if (isShown(line, options)) await print(shown(line, options));
    read = now;
    await sleep(pollMs);
  }
}

const linesOf = (file: string, start: number, end: number): AsyncIterable<string> =>
  end > start ? createInterface({ input: createReadStream(file, { start, end: end - 1 }) }) : noLines();

async function* noLines(): AsyncGenerator<string> {
  // An empty file has no lines.
}

function isShown(line: string, { level }: LogsOptions): boolean {
  if (level === 'trace') return line !== '';
  try {
    return JSON.parse(line).level >= levels[level];
  } catch {
    return true;
  }
}

/** Returns a line as it is with `--json`, else as text. */
function shown(line: string, { json }: LogsOptions): string {
  try {
    const { level, time, pid: _, msg, ...fields } = JSON.parse(line);
    if (json) return `${toSafeJson(line)}\n`;
    const name = Object.entries(levels).find(([, it]) => it === level)?.[0] ?? String(level);
    const rest = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
    return `${printable(`${time} ${name.toUpperCase()} ${msg}${rest}`)}\n`;
  } catch {
    return `${printable(line)}\n`;
  }
}

async function showJournal({ lines, follow }: LogsOptions): Promise<void> {
  const args = [
    '--unit',
    'postern',
    '--output',
    'cat',
    '--lines',
    String(lines),
    ...(follow ? ['--follow'] : []),
  ];
  const child = spawn('journalctl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const failed = once(child, 'error').then(() => {
    throw new Error(noJournal);
  });
  let bytes = 0;
  const shows = async (): Promise<void> => {
    for await (const part of child.stdout) {
      bytes += part.length;
      await print(String(part));
    }
    if (bytes === 0) throw new Error(noJournal);
  };
  await Promise.race([shows(), failed]);
}

const noJournal =
  'nothing is in the journal of a service "postern", and log.file is not set: the daemon logs to its standard error. Look at the terminal that it runs in, or set log.file.';
