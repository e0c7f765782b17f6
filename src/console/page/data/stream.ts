import { useEffect, useRef } from 'preact/hooks';

/**
 * Follows an event stream while the page is seen. A browser has six connections for all pages of a daemon, so
 * hidden pages give theirs back. When the page is seen again, the stream goes on behind the last event.
 */
export function useStream(
  url: string | undefined,
  listeners: Readonly<Record<string, (event: MessageEvent<string>) => void>>,
  onOpen: (isOpen: boolean) => void,
): void {
  const latest = useRef({ listeners, onOpen });
  latest.current = { listeners, onOpen };
  useEffect(() => {
    if (url === undefined) return;
    let source: EventSource | undefined;
    let last = '';
    const close = () => {
      source?.close();
      source = undefined;
      latest.current.onOpen(false);
    };
    const open = () => {
      if (source) return;
      const from = new URL(url);
      if (last !== '') from.searchParams.set('last_event_id', last);
      const opened = new EventSource(from);
      source = opened;
      opened.addEventListener('open', () => latest.current.onOpen(true));
      opened.addEventListener('error', () => latest.current.onOpen(false));
      for (const name of Object.keys(latest.current.listeners))
        opened.addEventListener(name, (event: MessageEvent<string>) => {
          last = event.lastEventId || last;
          latest.current.listeners[name]?.(event);
        });
    };
    const look = () => (document.hidden ? close() : open());
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      close();
    };
  }, [url]);
}
