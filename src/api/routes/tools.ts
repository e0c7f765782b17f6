import { z } from 'zod';
import type { ToolSummary } from '../../catalogue/catalogue.ts';
import { verbs } from '../../core/call.ts';
import type { Gate } from '../../decision/gate.ts';
import { missing } from '../fields/fields.ts';
import { type Caller, routesOf } from '../route.ts';

/* Shows the tools that the gateway knows, which are the names that policies can use. */

const route = routesOf('tools');

const toolLine = {
  name: z.string(),
  title: z.string(),
  hosts: z
    .array(z.string())
    .describe('Host patterns, perhaps with the beginning of a path; none of a protocol.'),
};

const operation = z.object({
  name: z.string(),
  category: z.string(),
  verb: z.enum(verbs),
  calls: z.array(z.string()).describe('Methods and paths, actions and root fields that it stands for.'),
});

const lineOf = ({ name, title, hosts }: ToolSummary) => ({ name, title, hosts: [...hosts] });

/**
 * Returns the tools that the caller sees: those of its tenant or, for the admin secret, of the only tenant.
 * Among several tenants, the admin secret sees the tools that all share.
 */
function toolsFor({ catalogues, tenants }: Gate, caller: Caller): readonly ToolSummary[] {
  const [tenantId, ...others] = caller.kind === 'key' ? [caller.identity.tenantId] : tenants.ids();
  const isOne = tenantId !== undefined && others.length === 0;
  return (isOne ? catalogues.of(tenantId) : catalogues.common).tools;
}

/** `GET /v1/tools` lists all tools by name. */
export const listTools = route('GET /v1/tools', {
  summary: 'List the tools whose calls are understood',
  access: 'key',
  answer: z
    .object({ items: z.array(z.object({ ...toolLine, operations: z.int().describe('How many it has.') })) })
    .meta({ id: 'ToolList' }),
  handle: ({ gate, caller }) => ({
    items: toolsFor(gate, caller)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((tool) => ({ ...lineOf(tool), operations: tool.operationNames.length })),
  }),
});

export const showTool = route('GET /v1/tools/:name', {
  summary: 'Show a tool and its operations',
  access: 'key',
  answer: z.object({ ...toolLine, operations: z.array(operation) }).meta({ id: 'Tool' }),
  handle({ gate, caller, params }) {
    const tool = toolsFor(gate, caller).find(({ name }) => name === params['name']);
    if (!tool) throw missing('tool');
    return {
      ...lineOf(tool),
      operations: tool.operations.map(({ calls, ...rest }) => ({ ...rest, calls: [...calls] })),
    };
  },
});
