import type { Meaning } from '../../core/call.ts';
import { ownName, safely, shortened } from '../../core/safe-name.ts';
import { injectionScoreMin } from '../../inspect/injection/reader.ts';
import type { SignalEngine } from './engine.ts';

/** Reports orders to the reader, in messages to agents and MCP tools and in the context of any call. */
const promptInjection: SignalEngine = {
  name: 'semantic',
  assess({ inspection: { injection } }) {
    if (injection < injectionScoreMin) return undefined;
    return {
      engine: 'semantic',
      name: 'PROMPT_INJECTION',
      score: injection,
      details: safely`the message, or the context of the call, gives orders to the agent that reads it`,
    };
  },
};

/**
 * Returns an engine that reports that context or body ask for something delicate. It weighs words and never
 * decides.
 */
const asking = (category: Meaning['category']): SignalEngine => ({
  name: 'semantic',
  assess({ inspection: { meanings } }) {
    const meaning = meanings.find((it) => it.category === category);
    if (!meaning) return undefined;
    return {
      engine: 'semantic',
      name: category,
      score: meaning.score,
      // The details name words of the lexicon, never those of the text.
      details: shortened(safely`the context or the body asks for it: ${ownName(meaning.details)}`, 512),
    };
  },
});

export const semantic: readonly SignalEngine[] = [
  promptInjection,
  asking('EXFILTRATION'),
  asking('PRIVILEGE_ESCALATION'),
  asking('DESTRUCTIVE'),
  asking('LATERAL_MOVEMENT'),
];
