import { chmodSync, closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { GatewayError, stateUnavailable } from '../../core/errors.ts';
import { ownedLike } from '../../util/files/owned-like.ts';

/*
 * The only file that knows node:sqlite (newer versions of Node rename its class). Whatever the database
 * refuses (full disk, failing device, a lock that is not released) leaves here as STATE_UNAVAILABLE with its
 * cause.
 */

export type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, unknown>>;

export interface Statement {
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
  /** Returns the number of rows that changed. */
  run(...values: Value[]): number;
}

export interface Database {
  prepare(sql: string): Statement;
  /**
   * Runs `work` in a transaction and answers its result once that is committed. Throws, with nothing changed,
   * when `work` throws or the commit fails; the next transaction starts afresh. Within a transaction it makes
   * a nested one, whose failure leaves the outer one as it was. Where the database had to give up the outer
   * one as well, `isInTransaction` is false afterwards.
   */
  transact<T>(work: () => T): T;
  isInTransaction(): boolean;
  close(): void;
}

interface DatabaseOptions {
  /** `FULL`: a commit is on the disk. `NORMAL`: it survives the process; a power cut may take the last. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** SQL that leads from each schema version to the next, from the empty database on. */
  readonly migrations: readonly string[];
}

/** Is how long a transaction waits for a backup's or another tool's lock; the event loop waits with it. */
const busyTimeoutMs = 100;

export function toStateError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : stateUnavailable(`The state cannot be read or written: ${whyRefused(error)}.`, error);
}

/** Returns the sentence that SQLite has for the code of an error, which quotes nothing. */
export function whyRefused(error: unknown): string {
  const { cause = error } = Object(error) as { cause?: unknown };
  return String((Object(cause) as { errstr?: unknown }).errstr ?? 'its log says why');
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toStateError(error);
  }
}

/** Opens `file`, or makes it with mode 0600. It waits `timeoutMs` for a lock that somebody else has. */
export function openRaw(file: string, timeoutMs: number): DatabaseSync {
  makePrivate(file);
  return new DatabaseSync(file, { timeout: timeoutMs });
}

/**
 * SQLite would make the file as the umask has it; its WAL gets the mode of the file. One that exists is never
 * opened here: closing it again would drop every lock that this process has on it (POSIX), those of SQLite
 * included.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    ownedLike(file, dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    chmodSync(file, 0o600);
  }
}

/** Opens a database in WAL mode and migrates its schema. It refuses a schema newer than the code. */
export function openDatabase(file: string, options: DatabaseOptions): Database {
  const raw = openRaw(file, busyTimeoutMs);
  try {
    raw.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${options.synchronous}; PRAGMA trusted_schema = OFF`,
    );
    const database = wrap(raw);
    migrate(database, raw, file, options.migrations);
    return database;
  } catch (error) {
    raw.close();
    throw toStateError(error);
  }
}

/** The schema version of a database, read without changing it; a daemon may have it open. */
export function schemaVersion(file: string): number {
  return readOnly(file, (raw) => Number(raw.prepare('PRAGMA user_version').get()?.['user_version']));
}

/**
 * Copies a database as it is at one moment, while a daemon writes to it. The copy is one file with mode 0600,
 * that can be read without writing beside it. Rejects where it is not whole.
 */
export async function copyDatabase(file: string, to: string): Promise<void> {
  const raw = new DatabaseSync(file, { readOnly: true });
  try {
    await backup(raw, to);
  } finally {
    raw.close();
  }
  const copy = openRaw(to, busyTimeoutMs);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
  } finally {
    copy.close();
  }
  checkDatabase(to);
}

/** Throws STATE_UNAVAILABLE where a database is damaged. */
export function checkDatabase(file: string): void {
  const found = readOnly(file, (raw) => String(raw.prepare('PRAGMA quick_check(1)').get()?.['quick_check']));
  if (found !== 'ok') throw stateUnavailable(`${file} is damaged.`);
}

function readOnly<T>(file: string, work: (raw: DatabaseSync) => T): T {
  return guarded(() => {
    const raw = new DatabaseSync(file, { readOnly: true });
    try {
      return work(raw);
    } finally {
      raw.close();
    }
  });
}

function wrap(raw: DatabaseSync): Database {
  let depth = 0;

  function begin(isNested: boolean): void {
    // Left by a rollback that failed: what stands in it was never acknowledged.
    if (!isNested && raw.isTransaction) raw.exec('ROLLBACK');
    raw.exec(isNested ? 'SAVEPOINT nested' : 'BEGIN IMMEDIATE');
  }

  function transact<T>(work: () => T): T {
    const isNested = depth > 0;
    begin(isNested);
    depth += 1;
    try {
      const result = work();
      raw.exec(isNested ? 'RELEASE nested' : 'COMMIT');
      return result;
    } catch (error) {
      // Some failures make SQLite roll back everything by itself.
      if (raw.isTransaction) raw.exec(isNested ? 'ROLLBACK TO nested; RELEASE nested' : 'ROLLBACK');
      throw error;
    } finally {
      depth -= 1;
    }
  }

  return {
    prepare(sql) {
      const statement = raw.prepare(sql);
      return {
        get: (...values) => guarded(() => statement.get(...values)),
        all: (...values) => guarded(() => statement.all(...values)),
        run: (...values) => guarded(() => Number(statement.run(...values).changes)),
      };
    },
    transact: (work) => guarded(() => transact(work)),
    isInTransaction: () => raw.isTransaction,
    close: () => raw.close(),
  };
}

/** All steps or none: where one fails, the version that has left the state can open it again. */
function migrate(database: Database, raw: DatabaseSync, file: string, migrations: readonly string[]): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  refuseNewer(file, version, migrations);
  if (version === migrations.length) return;
  const steps = migrations.slice(version).join(';');
  database.transact(() => raw.exec(`${steps}; PRAGMA user_version = ${migrations.length}`));
}

/** Throws STATE_UNAVAILABLE where a newer version has written the database. */
export function refuseNewer(file: string, version: number, migrations: readonly string[]): void {
  if (version > migrations.length)
    throw stateUnavailable(
      `${file} has schema version ${version}, and this version of Postern knows ${migrations.length}: start the newer one.`,
    );
}

/** Returns the object that a row keeps as JSON in its column `record`. */
export const recordOf = <T>(row: Row): T => parseStored<T>(row['record']);

/** JSON that was written here; what is none any more cannot be read. */
export const parseStored = <T>(text: unknown): T => guarded(() => JSON.parse(String(text)) as T);

export const rowToRecord = <T>(row: Row | undefined): T | undefined =>
  row === undefined ? undefined : recordOf<T>(row);
