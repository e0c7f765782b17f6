import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';
import { Problem } from './bits.tsx';

interface Module<P> {
  readonly default: ComponentType<P>;
}

/**
 * Returns a component that is loaded when it is first shown. Where it cannot be loaded, it says so in its
 * place: the daemon is away, or a newer one has other files.
 */
export const loaded = <P,>(load: () => Promise<Module<P>>): ComponentType<P> =>
  lazy(() => load().catch((): Module<P> => ({ default: Unloaded })));

const Unloaded = () => (
  <Problem
    of={
      new Error('This part of the console cannot be loaded. The daemon may be restarting, or be a newer one.')
    }
    again={() => location.reload()}
  />
);
