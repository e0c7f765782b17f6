import { accessSync, appendFileSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './clients.ts';

/** Debian's package of a program, where it has another name than the program. */
const packages: Readonly<Record<string, string>> = {
  certutil: 'libnss3-tools',
  ip: 'iproute2',
  nft: 'nftables',
  'redis-cli': 'redis-tools',
  setpriv: 'util-linux',
  'systemd-analyze': 'systemd',
  unshare: 'util-linux',
};

/**
 * The path of an external program that a test needs. Where the machine lacks it this is undefined, and the
 * test returns: it passes, but not in silence. The line goes to standard error and to the file that
 * `POSTERN_TEST_LEFT_OUT` names; CI fails when that file is not empty.
 */
export function needProgram(t: { readonly fullname: string }, name: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && isExecutable(path)) return path;
  }
  leaveOut(t, `${name} (Debian: ${packages[name] ?? name})`);
  return undefined;
}

/** Likewise of a Node that is too old for Postern itself, and new enough to hand over to the one that comes with it. */
export async function findOldNode(t: { readonly fullname: string }): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  for (const folder of new Set(folders)) {
    const path = join(folder, 'node');
    if (folder === '' || !isExecutable(path)) continue;
    const major = Number(/^v(\d+)\./.exec((await run(path, ['--version'])).stdout)?.[1]);
    if (major >= 20 && major < 24) return path;
  }
  leaveOut(t, 'an older Node (Debian: nodejs)');
  return undefined;
}

/** Likewise of a module of Python; false where it is not there. */
export async function needPythonModule(t: { readonly fullname: string }, name: string): Promise<boolean> {
  const { code } = await run('python3', ['-c', `import ${name}`]);
  if (code !== 0) leaveOut(t, `Python's ${name} (Debian: python3-${name})`);
  return code === 0;
}

/** Says in the same way that the machine lacks something else. */
export function leaveOut(t: { readonly fullname: string }, what: string): void {
  const line = `left out: ${t.fullname} needs ${what}\n`;
  process.stderr.write(line);
  const file = process.env['POSTERN_TEST_LEFT_OUT'];
  if (file) appendFileSync(file, line);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
