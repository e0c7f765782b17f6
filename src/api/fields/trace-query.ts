import { z } from 'zod';
import { dataClasses } from '../../core/call.ts';
import type { TraceFilter } from '../../state/store.ts';
import { answerFacts } from '../../state/traces/answer-facts.ts';
import { band, decision, instant, present, uuid } from './fields.ts';

/* The filters of traces, for all endpoints that search them. */

const word = z.string().min(1).max(256);

export const traceFilter = {
  agent_id: uuid.optional(),
  tool_name: word.optional(),
  operation: word.optional(),
  decision: decision.optional(),
  reason: word.optional(),
  band: band.optional(),
  class: z.enum(dataClasses).optional(),
  tag: word.optional(),
  answer: z
    .enum(answerFacts)
    .optional()
    .describe(
      'Calls whose answer gave orders to the agent (injection), was withheld, or cut, or that got none (failed).',
    ),
  q: word.optional().describe('Anywhere in the trace, in any case.'),
};

/** The filters in a query, where some have a short name as well. */
export const traceFilterQuery = {
  ...traceFilter,
  agent: uuid.optional().describe('The same as agent_id.'),
  tool: word.optional().describe('The same as tool_name.'),
};

export const traceTimes = {
  from: instant.optional().describe('Inclusive.'),
  to: instant.optional().describe('Exclusive.'),
};

const query = z.object({ ...traceFilterQuery, ...traceTimes });

export const toFilter = (asked: Partial<z.output<typeof query>>): TraceFilter =>
  present({
    agentId: asked.agent_id ?? asked.agent,
    toolName: asked.tool_name ?? asked.tool,
    operation: asked.operation,
    decision: asked.decision,
    reason: asked.reason,
    band: asked.band,
    dataClass: asked.class,
    tag: asked.tag,
    answer: asked.answer,
    fromMs: asked.from,
    beforeMs: asked.to,
    text: asked.q,
  });
