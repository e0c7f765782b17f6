import { may } from '../../data/api.ts';
import type { Group } from '../../data/groups.ts';
import { stepOf, useKeyPress } from '../../kit/key-press.ts';
import type { Choice } from './decide.ts';

interface KeysOf {
  readonly groups: readonly Group[];
  /** The index of the card that is open; -1 for none. */
  readonly index: number;
  readonly choose: (group: Group) => void;
  readonly deny: (group: Group) => void;
  readonly note: (group: Group) => void;
  readonly run: (group: Group, choice: Choice) => void;
}

/** Handles keys while nobody types: j and k go through the queue; a, w and d decide, n adds a note. */
export const useKeys = ({ groups, index, choose, deny, note, run }: KeysOf): void =>
  useKeyPress((event) => {
    const { key } = event;
    if (event.repeat) return;
    const step = stepOf(key);
    const next = index < 0 ? groups.at(step > 0 ? 0 : -1) : groups[index + step];
    if (step !== 0 && next) return choose(next);
    const current = groups[index];
    if (!current || !may('approvals:decide')) return;
    if (key === 'a') run(current, { decision: 'approved', scope: 'once' });
    if (key === 'w') run(current, { decision: 'approved', scope: 'window' });
    if (key !== 'd' && key !== 'n') return;
    event.preventDefault();
    (key === 'd' ? deny : note)(current);
  });
