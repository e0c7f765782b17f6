import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrationsOf } from '../../src/state/embedded/file/migrations.ts';

/** Schema versions of the databases, by file. */
export type SchemaVersions = Readonly<Record<string, number>>;

/**
 * Writes into `to` the state of `from` as earlier versions have left it: the tables and columns of those schemas alone, with the records
 * that fit into them.
 */
export function writeOlderState(from: string, to: string, versions: SchemaVersions): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const [name, migrations] of Object.entries(migrationsOf)) {
    const version = versions[name] ?? migrations.length;
    const old = new DatabaseSync(join(to, name));
    for (const step of migrations.slice(0, version)) old.exec(step);
    old.exec(`PRAGMA user_version = ${version}`);
    old.prepare('ATTACH DATABASE ? AS now').run(join(from, name));
    const tables = old.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").all();
    for (const table of tables.map((it) => String(it['name']))) {
      // Generated columns are not of type 0.
      const columns = old.prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0').all(table);
      const list = columns.map((it) => `"${it['name']}"`).join(', ');
      old.exec(`DELETE FROM main."${table}" WHERE '${table}' = 'probe'`);
      old.exec(`INSERT INTO main."${table}" (${list}) SELECT ${list} FROM now."${table}"`);
    }
    old.close();
  }
}
