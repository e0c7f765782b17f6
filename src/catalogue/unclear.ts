import type { Operation, Unclear } from '../core/call.ts';
import type { Mounted } from './load/mounts.ts';
import { unknownFields } from './load/schema.ts';

/*
 * Makes operations for calls that nobody can tell, so that every rule that refuses matches, and none that
 * allows.
 */

const ofSameTool: Unclear = { toolNames: [], anyMethod: false };

/**
 * Returns the operation as any operation of its tool, which may act on anything that is not told, for
 * anybody.
 */
export const asUnclear = (operation: Operation): Operation => ({
  ...operation,
  resource: {
    ...operation.resource,
    unknown: unknownFields.filter((it) => operation.resource[it] === undefined),
  },
  principals: [...new Set([...operation.principals, '*'])],
  unclear: ofSameTool,
});

/**
 * Returns the operation of a batch that cannot be taken apart. It may do anything that its host's tools can,
 * to anything, for anybody.
 */
export const anyBatch = (toolName: string, mounts: readonly Mounted[]): Operation =>
  anything(toolName, mounts, 'batch');

/** Returns the operation of an unread tunnel, which may do anything that its host's tools can. */
export const anyTunnel = (toolName: string, mounts: readonly Mounted[]): Operation =>
  anything(toolName, mounts, 'tunnel');

const anything = (toolName: string, mounts: readonly Mounted[], name: 'batch' | 'tunnel'): Operation => ({
  toolName,
  name,
  category: name,
  verb: 'ADMIN',
  resource: { unknown: unknownFields },
  principals: ['*'],
  unclear: {
    toolNames: [...new Set(mounts.map((it) => it.toolName))].filter((it) => it !== toolName),
    anyMethod: true,
  },
});
