import { useEffect, useRef } from 'preact/hooks';

/** Handles the keys that are pressed while nobody types, without Ctrl, Alt or the like. */
export function useKeyPress(press: (event: KeyboardEvent) => void): void {
  const latest = useRef(press);
  latest.current = press;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, ctrlKey, metaKey, altKey } = event;
      if (target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (!ctrlKey && !metaKey && !altKey) latest.current(event);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** Returns how far a key goes in a list: j one on, k one back. */
export const stepOf = (key: string): number => (key === 'j' ? 1 : key === 'k' ? -1 : 0);
