import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/* The stores in which programs of a machine look for authorities, beside the variables of `env`. */

const execute = promisify(execFile);

interface Stores {
  readonly system: boolean;
  /** Folder of an NSS database; '' for that of the home folder, undefined for none. */
  readonly nss: string | undefined;
  readonly remove: boolean;
}

/** Folders in which distributions have further authorities, and the commands that take these over. */
const systemStores = [
  { folder: '/usr/local/share/ca-certificates', command: 'update-ca-certificates', args: [] },
  { folder: '/etc/pki/ca-trust/source/anchors', command: 'update-ca-trust', args: ['extract'] },
  { folder: '/etc/ca-certificates/trust-source/anchors', command: 'trust', args: ['extract-compat'] },
];

/** Installs the first certificate of a file in stores, or removes it. Returns a sentence for each store. */
export async function trustIn(certFile: string, { system, nss, remove }: Stores): Promise<readonly string[]> {
  const certificate = new X509Certificate(readFileSync(certFile));
  const name = `postern-${certificate.fingerprint256.replaceAll(':', '').slice(0, 16).toLowerCase()}`;
  const said: string[] = [];
  if (system) said.push(await inSystem(certificate, name, remove));
  if (nss !== undefined) said.push(await inNss(certFile, name, nss || join(homedir(), '.pki/nssdb'), remove));
  return said;
}

async function inSystem(certificate: X509Certificate, name: string, remove: boolean): Promise<string> {
  const store = systemStores.find(({ folder }) => existsSync(folder));
  if (!store)
    throw new Error('no store of this system is known; export the certificate and install it by hand.');
  const file = join(store.folder, `${name}.crt`);
  if (remove) rmSync(file, { force: true });
  else writeFileSync(file, certificate.toString(), { mode: 0o644 });
  await run(store.command, store.args);
  return remove ? `${file} is removed.` : `${file} is trusted by what uses the store of the system.`;
}

async function inNss(certFile: string, name: string, folder: string, remove: boolean): Promise<string> {
  const database = `sql:${folder}`;
  if (!existsSync(join(folder, 'cert9.db'))) {
    if (remove) throw new Error(`${folder} has no NSS database.`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await run('certutil', ['-d', database, '-N', '--empty-password']);
  }
  if (remove) await run('certutil', ['-d', database, '-D', '-n', name]);
  else await run('certutil', ['-d', database, '-A', '-t', 'C,,', '-n', name, '-i', certFile]);
  return remove ? `${name} is removed from ${folder}.` : `${name} is trusted by what uses ${folder}.`;
}

async function run(command: string, args: readonly string[]): Promise<void> {
  try {
    await execute(command, [...args]);
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string };
    const reason =
      code === 'ENOENT' ? `${command} is not installed (Debian: ${packages[command] ?? command})` : stderr;
    throw new Error(`the store cannot be changed: ${reason.trim() || String(code)}`, { cause: error });
  }
}

const packages: Readonly<Record<string, string>> = {
  certutil: 'libnss3-tools',
  'update-ca-certificates': 'ca-certificates',
};
