import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../../config/schema.ts';
import { fileDigest } from '../../../util/files/file-digest.ts';
import { makeFolder } from '../../../util/files/make-folder.ts';
import { ownedLike } from '../../../util/files/owned-like.ts';
import type { CommonOptions } from '../../connection/client.ts';
import { readAddresses } from '../../connection/configuration.ts';
import { note, print, toFacts, toJson } from '../../output.ts';

/*
 * A backup is a folder. It has copies of both databases, each as it was at one moment, and the journal of
 * calls that were not in them yet. It also has the secrets beside them, the authority and the configuration.
 * A list of all files with their digests is written last.
 */

const listFile = 'backup.json';
const databases = ['state.db', 'traces.db'];
/** Matches files of the state folder that are not copied as they are: databases, and those of one process. */
const leftOut = /^(?:lock\.db|listening\.json|last-reload\.json|.*\.(?:new|db-wal|db-shm)|.*\.db)$/;
const filesMax = 10_000;

interface Listed {
  readonly version: string;
  readonly made_at: string;
  readonly schema: number;
  /** SHA-256 of each file in hex, by its path in the backup. */
  readonly files: Readonly<Record<string, string>>;
}

/** Adds `postern backup` and `postern restore`, for an embedded state. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description(
      'copy an embedded state, its secrets, the authority and the configuration, while the daemon runs',
    )
    .argument('<folder>', 'that is not there yet; whoever has it can open the credentials')
    .action(async (folder: string, _options: unknown, backup: Command) => {
      const { config: named, json } = backup.optsWithGlobals<CommonOptions>();
      const { config } = await readAddresses(named);
      const listed = await makeBackup(config, resolve(folder), program.version() ?? '');
      const facts = {
        folder: resolve(folder),
        schema: listed.schema,
        files: Object.keys(listed.files).length,
      };
      await print(json ? `${toJson(facts)}\n` : toFacts(facts));
    });

  program
    .command('restore')
    .description(
      'put a backup where the configuration has its state; refuses what does not fit, and a state that is there',
    )
    .argument('<folder>', 'that "postern backup" has made')
    .action(async (folder: string, _options: unknown, restore: Command) => {
      const { config: named, json } = restore.optsWithGlobals<CommonOptions>();
      const { config } = await readAddresses(named);
      const listed = await restoreBackup(config, resolve(folder));
      const facts = {
        state: config.state.dir,
        made_at: listed.made_at,
        files: Object.keys(listed.files).length,
      };
      await print(json ? `${toJson(facts)}\n` : toFacts(facts));
      note(`All is as it was at ${listed.made_at}: keys that were revoked since then are valid again.`);
    });
}

function embeddedDir({ state }: Config): string {
  if (state.url.driver === 'embedded') return state.url.dir;
  throw new Error(
    'the state is in Redis: back up Redis itself (BGSAVE), and the files of authority and vault.',
  );
}

async function makeBackup(config: Config, folder: string, version: string): Promise<Listed> {
  const dir = embeddedDir(config);
  if (!existsSync(join(dir, 'state.db'))) throw new Error(`there is no state in ${dir}.`);
  if (existsSync(folder)) throw new Error(`${folder} is there already; name another folder.`);
  const { copyDatabase, schemaVersion } = await import('../../../state/embedded/sqlite.ts');
  const draft = join(dirname(folder), `.${basename(folder)}.new`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(join(draft, 'state'), { recursive: true, mode: 0o700 });
  try {
    // The journal is copied first. A call that reaches the databases meanwhile is in both, and its id tells
    // that it is one call.
    for (const file of filesOf(dir)) copyInto(join(dir, file), join(draft, 'state', file));
    for (const name of databases) await copyDatabase(join(dir, name), join(draft, 'state', name));
    for (const [name, file] of outside(config)) if (existsSync(file)) copyInto(file, join(draft, name));
    const files = Object.fromEntries(allFiles(draft).map((it) => [it, fileDigest(join(draft, it))]));
    const schema = schemaVersion(join(draft, 'state', 'state.db'));
    const listed: Listed = { version, made_at: new Date().toISOString(), schema, files };
    writeFileSync(join(draft, listFile), `${JSON.stringify(listed, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, folder);
    return listed;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Returns the files outside of the state folder, each with its name in the backup. */
function outside({ authority, vault, file }: Config): readonly (readonly [string, string])[] {
  return [
    ['authority-cert.pem', authority.cert],
    ['authority-key.pem', authority.key],
    ...(vault.keyFile === null ? [] : [['vault-key', vault.keyFile] as const]),
    ...(file === undefined ? [] : [['postern.yaml', file] as const]),
  ];
}

/** Copies a file, unless it is gone. A segment of the journal that is gone was shipped to a database. */
function copyInto(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    copyFileSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

const filesOf = (dir: string): readonly string[] => allFiles(dir).filter((it) => !leftOut.test(basename(it)));

function allFiles(dir: string): readonly string[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(dir, name), { throwIfNoEntry: false })?.isFile(),
  );
  if (names.length > filesMax) throw new Error(`${dir} has more than ${filesMax} files.`);
  return names.sort();
}

async function restoreBackup(config: Config, folder: string): Promise<Listed> {
  const named = embeddedDir(config);
  // The state folder of a systemd unit with DynamicUser is a link, which must stay.
  const dir = existsSync(named) ? realpathSync(named) : named;
  const listed = readList(folder);
  for (const [file, digest] of Object.entries(listed.files)) {
    const path = join(folder, file);
    if (!existsSync(path) || fileDigest(path) !== digest)
      throw new Error(`${path} is not what the backup has listed: it is missing, or was changed.`);
  }
  const { stateMigrations } = await import('../../../state/embedded/file/migrations.ts');
  const { checkDatabase } = await import('../../../state/embedded/sqlite.ts');
  if (listed.schema > stateMigrations.length)
    throw new Error(
      `the backup is of Postern ${listed.version}, with schema ${listed.schema}; this version knows ${stateMigrations.length}. Install the newer one.`,
    );
  for (const name of databases) checkDatabase(join(folder, 'state', name));
  const draft = join(dir, '.restoring');
  rmSync(draft, { recursive: true, force: true });
  if (existsSync(dir) && allFiles(dir).length > 0)
    throw new Error(`${dir} has a state already; stop the daemon, and move that folder away first.`);
  const taken = outside(config).filter(([name, file]) => isOther(join(folder, name), file));
  if (taken.length > 0)
    throw new Error(
      `${taken.map(([, file]) => file).join(', ')}: another file stands there; move it away first.`,
    );
  if (!existsSync(dir)) {
    makeFolder(dir, 0o700);
    ownedLike(dir, dirname(dir));
  }
  try {
    for (const file of Object.keys(listed.files))
      if (file.startsWith('state/')) copyInto(join(folder, file), join(draft, file.slice('state/'.length)));
    for (const path of ['.', ...readdirSync(draft, { recursive: true, encoding: 'utf8' })])
      ownedLike(join(draft, path), dir);
    for (const [name, file] of outside(config))
      if (name !== 'postern.yaml' && existsSync(join(folder, name)) && !existsSync(file)) {
        copyInto(join(folder, name), file);
        ownedLike(file, dirname(file));
      }
    // The folder stays: it may be a volume, or stand in one that this user may not write to. The databases come
    // last, so a state that has them is whole.
    const others = readdirSync(draft).filter((it) => !databases.includes(it));
    for (const name of [...others, ...databases]) renameSync(join(draft, name), join(dir, name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return listed;
}

/**
 * Tells whether another file stands where one is to be restored. The configuration may have changed since
 * then; what opens the state may not.
 */
const isOther = (saved: string, standing: string): boolean =>
  basename(saved) !== 'postern.yaml' &&
  existsSync(saved) &&
  existsSync(standing) &&
  fileDigest(saved) !== fileDigest(standing);

function readList(folder: string): Listed {
  try {
    const listed: Listed = JSON.parse(readFileSync(join(folder, listFile), 'utf8'));
    const isWhole = Object.keys(listed.files).every((it) => !it.includes('..') && !it.startsWith('/'));
    if (isWhole && Number.isInteger(listed.schema)) return listed;
  } catch (error) {
    throw new Error(`${folder} is no backup: ${listFile} cannot be read.`, { cause: error });
  }
  throw new Error(`${folder} is no backup: ${listFile} is not whole.`);
}
