import { z } from 'zod';
import type { ToolSummary } from '../../catalogue/catalogue.ts';
import { verbs } from '../../core/call.ts';
import type { Gate } from '../../decision/gate.ts';
import { missing } from '../fields/fields.ts';
import { type Caller, routesOf } from '../route.ts';

/* The tools that the gateway knows: the names that policies can use. */

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

/** A key sees its tenant's tools. The admin secret sees those of all tenants, or of the only one. */
function toolsFor({ catalogues, tenants }: Gate, caller: Caller): readonly ToolSummary[] {
  const [tenantId, ...others] = caller.kind === 'key' ? [caller.identity.tenantId] : tenants.ids();
  const isOne = tenantId !== undefined && others.length === 0;
  return (isOne ? catalogues.of(tenantId) : catalogues.common).tools;
}

/** `GET /v1/tools`: all tools, by name. */
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

/** `GET /v1/tools/{name}`: one tool with its operations. */
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
