import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Operation } from '../call.ts';
import { readDataFile } from '../data-file.ts';

/** Tells operations that make somebody who may be given rights, and those that give rights. */
export type PrivilegeOf = (operation: Operation) => 'creates' | 'grants' | undefined;

const names = z.array(z.string()).min(1);
const schema = z.array(z.strictObject({ tool: z.string(), creates: names, grants: names }));

export type Privileges = z.output<typeof schema>;

/** Reads the table. Throws an Error that says what is wrong with the file. */
export function loadPrivileges(file: string): Privileges {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file} is not valid:\n${mistake}`);
  return schema.parse(documents[0]);
}

/** Of a call that does several things, giving rights counts. */
export function createPrivilegeOf(table: Privileges): PrivilegeOf {
  const byTool = new Map(
    table.map(({ tool, creates, grants }) => [tool, { creates: new Set(creates), grants: new Set(grants) }]),
  );
  const one = ({ toolName, name }: Pick<Operation, 'toolName' | 'name'>): ReturnType<PrivilegeOf> => {
    const known = byTool.get(toolName);
    if (known?.grants.has(name)) return 'grants';
    return known?.creates.has(name) ? 'creates' : undefined;
  };
  return (operation) => {
    if (!operation.parts) return one(operation);
    const all = [one(operation), ...operation.parts.map((it) => one(it.operation))];
    return all.includes('grants') ? 'grants' : all.find((it) => it !== undefined);
  };
}
