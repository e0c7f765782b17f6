import { useEffect, useId, useRef } from 'preact/hooks';
import type { Children } from './bits.tsx';

/** Shows a dialog of the browser, which holds the focus and is closed by Escape. */
export function Dialog({
  title,
  onClose,
  children,
  isWide = false,
}: Children & { title: string; onClose: () => void; isWide?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { current } = element;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={isWide ? 'wide' : undefined} aria-labelledby={id} onClose={onClose}>
      <article>
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="ghost small" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </header>
        {children}
      </article>
    </dialog>
  );
}
