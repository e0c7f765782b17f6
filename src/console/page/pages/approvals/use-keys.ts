import { useEffect, useRef } from 'preact/hooks';
import { may } from '../../data/api.ts';
import type { Group } from '../../data/groups.ts';
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
export function useKeys(it: KeysOf): void {
  const latest = useRef(it);
  latest.current = it;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      if (target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (ctrlKey || metaKey || altKey || event.repeat) return;
      const { groups, index, choose, deny, note, run } = latest.current;
      const step = key === 'j' ? 1 : key === 'k' ? -1 : 0;
      const next = index < 0 ? groups.at(step > 0 ? 0 : -1) : groups[index + step];
      if (step !== 0 && next) return choose(next);
      const current = groups[index];
      if (!current || !may('approvals:decide')) return;
      if (key === 'a') run(current, { decision: 'approved', scope: 'once' });
      if (key === 'w') run(current, { decision: 'approved', scope: 'window' });
      if (key !== 'd' && key !== 'n') return;
      event.preventDefault();
      (key === 'd' ? deny : note)(current);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
