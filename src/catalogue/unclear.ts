import type { Operation, Unclear } from '../core/call.ts';
import type { Mounted } from './load/compile.ts';
import { unknownFields } from './load/schema.ts';

/* What is said of calls that nobody can tell: the strictest, so that every rule that refuses holds and none that allows. */

const ofSameTool: Unclear = { toolNames: [], anyMethod: false };

/** Some operation of its tool: it may act on anything that is not told, for anybody. */
export const asUnclear = (operation: Operation): Operation => ({
  ...operation,
  resource: {
    ...operation.resource,
    unknown: unknownFields.filter((it) => operation.resource[it] === undefined),
  },
  principals: [...new Set([...operation.principals, '*'])],
  unclear: ofSameTool,
});

/** A batch that nobody can take apart may do anything that the tools of its host can, to anything, for anybody. */
export const anyBatch = (toolName: string, mounts: readonly Mounted[]): Operation =>
  anything(toolName, mounts, 'batch');

/** So may a tunnel that nobody reads. */
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
