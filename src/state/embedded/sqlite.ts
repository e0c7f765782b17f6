import { chmodSync, closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { GatewayError, stateUnavailable } from '../../core/errors.ts';
import { ownedLike } from '../../util/files/owned-like.ts';

/*
 * The only file that uses node:sqlite (newer versions of Node rename its class). Whatever the database
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
   * Runs `work` in a transaction and returns its result once that is committed. Throws, with nothing changed,
   * when `work` throws or the commit fails; the next transaction starts afresh. Within a transaction it makes
   * a nested one, whose failure leaves the outer one as it was. Where the database had to give up the outer
   * one as well, `isInTransaction` is false afterwards.
   */
  transact<T>(work: () => T): T;
  isInTransaction(): boolean;
  close(): void;
}

interface DatabaseOptions {
  /**
   * What a commit promises. `FULL`: it is on the disk. `NORMAL`: it survives the process, but a power cut may
   * take the last ones.
   */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** The SQL that leads from each schema version to the next, from the empty database on. */
  readonly migrations: readonly string[];
}

/**
 * How long a transaction waits for the lock of a backup or another tool, in milliseconds. The event loop
 * waits with it.
 */
const busyTimeoutMs = 100;

export function toStateError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : stateUnavailable(`The state cannot be read or written: ${whyRefused(error)}.`, error);
}

/** Returns SQLite's sentence for the code of an error, which quotes nothing. */
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

/** Opens a database, or makes it with mode 0600. It waits `timeoutMs` for a lock that somebody else has. */
export function openRaw(file: string, timeoutMs: number): DatabaseSync {
  makePrivate(file);
  return new DatabaseSync(file, { timeout: timeoutMs });
}

/**
 * Makes a database file private; its WAL gets the same mode. SQLite would make it as the umask says. A file
 * that exists is never opened here. Closing it again would drop every lock that this process has on it
 * (POSIX), those of SQLite included.
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

/**
 * Opens a database in WAL mode and migrates its schema. Throws STATE_UNAVAILABLE where the schema is newer
 * than the code.
 */
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

/** Returns the schema version of a database, without changing it; a daemon may have it open. */
export function schemaVersion(file: string): number {
  return readOnly(file, (raw) => Number(raw.prepare('PRAGMA user_version').get()?.['user_version']));
}

/**
 * Copies a database as it is at one moment, while a daemon may write to it. The copy is one file with mode
 * 0600, which can be read without a WAL beside it. Rejects where the copy is damaged.
 */
export async function copyDatabase(file: string, to: string): Promise<void> {
  const raw = new DatabaseSync(file, { readOnly: true });
  try {
    // Reading holds on to that moment. Without it each commit of the daemon makes SQLite begin anew, so that a
    // copy which takes longer than the pauses between commits never ends.
    raw.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
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
    // A rollback that failed has left this transaction open. Nothing in it was acknowledged.
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

/**
 * Brings the schema up to date, with all steps or none. Where a step fails, the version that wrote the state
 * can open it again.
 */
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

/** Parses JSON that was written here. Throws STATE_UNAVAILABLE where the text is no JSON any more. */
export const parseStored = <T>(text: unknown): T => guarded(() => JSON.parse(String(text)) as T);

export const rowToRecord = <T>(row: Row | undefined): T | undefined =>
  row === undefined ? undefined : recordOf<T>(row);
