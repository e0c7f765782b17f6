import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from './api.ts';
import { type Area, heard } from './changes.ts';

export interface LoadedResource<T> {
  /** The data, which stay while they are read anew, so that nothing jumps. */
  readonly data: T | undefined;
  readonly problem: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

export interface ResourceOptions {
  /** Milliseconds between two reads while the page is seen; absent for none. */
  readonly everyMs?: number;
  /** The area whose changes cause another read. */
  readonly area?: Area;
}

/** Reads something whenever `key` changes, and again on request. Answers that come too late are dropped. */
export function useResource<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs, area }: ResourceOptions = {},
): LoadedResource<T> {
  const [state, setState] = useState<{ key?: string | undefined; data?: T; problem?: Error }>({});
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    if (key === undefined) return;
    const controller = new AbortController();
    loader.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ key, data });
      },
      (problem: Error) => {
        if (controller.signal.aborted) return;
        setState((old) =>
          old.key === key && old.data !== undefined ? { ...old, problem } : { key, problem },
        );
      },
    );
    return () => controller.abort();
  }, [key, turn, area && heard[area].value]);
  const reload = useCallback(() => setTurn((it) => it + 1), []);
  useRetry(state.problem, reload);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);
  const isOwn = state.key === key;
  return {
    data: isOwn ? state.data : undefined,
    problem: isOwn ? state.problem : undefined,
    isLoading: key !== undefined && !isOwn,
    reload,
  };
}

const retryMs = 3000;

/** Asks again by itself while the daemon cannot be reached, since it may be restarting. */
function useRetry(problem: Error | undefined, reload: () => void): void {
  useEffect(() => {
    if (!(problem instanceof ApiProblem) || problem.code !== 'UNREACHABLE') return;
    const timer = setTimeout(reload, retryMs);
    return () => clearTimeout(timer);
  }, [problem]);
}

export interface Action<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<boolean>;
  readonly isRunning: boolean;
  readonly problem: Error | undefined;
  readonly clear: () => void;
}

/** Returns an action that a person sets off. It runs one at a time, and what went wrong stays to be read. */
export function useAction<A extends readonly unknown[]>(work: (...args: A) => Promise<unknown>): Action<A> {
  const [state, setState] = useState<{ isRunning: boolean; problem?: Error }>({ isRunning: false });
  const busy = useRef(false);
  const run = async (...args: A): Promise<boolean> => {
    if (busy.current) return false;
    busy.current = true;
    setState({ isRunning: true });
    try {
      await work(...args);
      setState({ isRunning: false });
      return true;
    } catch (error) {
      setState({ isRunning: false, problem: error instanceof Error ? error : new Error(String(error)) });
      return false;
    } finally {
      busy.current = false;
    }
  };
  return {
    run,
    isRunning: state.isRunning,
    problem: state.problem,
    clear: () => setState({ isRunning: false }),
  };
}
