import { type Database, recordOf, rowToRecord } from './sqlite.ts';

/**
 * Reads and writes a table whose rows hold a record each. The columns of `key` name a row; the first one is
 * that by which rows are listed. Changes belong to the running transaction.
 */
export function createRecordTable<T extends object>(db: Database, table: string, key: readonly string[]) {
  const isRow = key.map((column) => `${column} = ?`).join(' AND ');
  const find = db.prepare(`SELECT record FROM ${table} WHERE ${isRow}`);
  const put = db.prepare(`
    INSERT INTO ${table} (record, ${key.join(', ')}) VALUES (?${', ?'.repeat(key.length)})
    ON CONFLICT DO UPDATE SET record = excluded.record
  `);
  const load = (...names: string[]) => rowToRecord<T>(find.get(...names));
  const save = (record: T, ...names: string[]): T => {
    put.run(JSON.stringify(record), ...names);
    return record;
  };
  const remove = db.prepare(`DELETE FROM ${table} WHERE ${isRow}`);
  const list = db.prepare(`SELECT record FROM ${table} WHERE ${key[0]} = ? ORDER BY ${key.join(', ')}`);
  return {
    find: load,
    list: (first: string) => list.all(first).map(recordOf<T>),
    /** Puts a record in the place of the one with these names, if there is one. */
    put: save,
    /** Puts what `toChanged` makes of a record in its place. Returns undefined where nothing is changed. */
    alter(toChanged: (standing: T) => T | undefined, ...names: string[]): T | undefined {
      const standing = load(...names);
      const changed = standing && toChanged(standing);
      return changed && save(changed, ...names);
    },
    /** Returns false where there is no such row. */
    remove: (...names: string[]): boolean => remove.run(...names) > 0,
  };
}
