import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Operation, PrivilegedOperation, Privileges } from '../../core/call.ts';
import { readDataFile } from '../../util/files/data-file.ts';

/**
 * Returns the part of a call that creates somebody who may be given rights, and the part that gives rights.
 */
export type PrivilegesOf = (operation: Operation) => Privileges;

const names = z.array(z.string()).min(1);
const schema = z.array(z.strictObject({ tool: z.string(), creates: names, grants: names }));

export type PrivilegeTable = z.output<typeof schema>;

/** Reads the table from a file. Throws an Error that says what is wrong with the file. */
export function loadPrivileges(file: string): PrivilegeTable {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file} is not valid:\n${mistake}`);
  return schema.parse(documents[0]);
}

/**
 * Returns a function that finds the privileged operations of a call. If a call does several things, the first
 * of each kind counts.
 */
export function createPrivilegesOf(table: PrivilegeTable): PrivilegesOf {
  const byTool = new Map(
    table.map(({ tool, creates, grants }) => [tool, { creates: new Set(creates), grants: new Set(grants) }]),
  );
  return (operation) => {
    const parts: readonly PrivilegedOperation[] = operation.parts?.map((it) => it.operation) ?? [operation];
    if (!parts.some((it) => byTool.has(it.toolName))) return none;
    const creates = parts.find((it) => byTool.get(it.toolName)?.creates.has(it.name));
    const grants = parts.find((it) => byTool.get(it.toolName)?.grants.has(it.name));
    return { ...(creates ? { creates } : {}), ...(grants ? { grants } : {}) };
  };
}

const none: Privileges = Object.freeze({});
