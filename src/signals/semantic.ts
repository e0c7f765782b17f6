import { scoreMin } from '../detectors/injection/reader.ts';
import type { SignalEngine } from './engine.ts';

/** Does what an agent says, or was told, give orders to whoever reads it? Looked at in messages between agents, and in the context of any call. */
export const semantic: SignalEngine = {
  name: 'semantic',
  weigh({ injection }) {
    if (injection < scoreMin) return undefined;
    return {
      engine: 'semantic',
      name: 'PROMPT_INJECTION',
      score: injection,
      details: 'the message, or the context of the call, gives orders to the agent that reads it',
    };
  },
};
