import { registerHooks } from 'node:module';

interface Change {
  readonly from: RegExp | string;
  readonly to: string;
}

/** Changes the texts of the program while this process loads them, from its sources or from its bundle. */
export function changeProgram(changes: readonly Change[]): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const { source } = loaded;
      if (!url.startsWith('file:') || !source) return loaded;
      const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
      const changed = changes.reduce((it, { from, to }) => it.replace(from, to), text);
      return changed === text ? loaded : { ...loaded, source: changed };
    },
  });
}
