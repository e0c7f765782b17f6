import { get } from './api.ts';

/** A value of the configuration: names in snake_case, secrets hidden. */
export type Shown = Readonly<Record<string, unknown>>;

/** Where a value is set. */
export interface Origin {
  readonly path: string;
  readonly from: 'file' | 'environment' | 'command line' | 'first start';
  readonly line?: number;
  /** The variable, the option, or the file that it is put in from. */
  readonly name?: string;
}

export interface ShownConfig {
  readonly file: string | null;
  readonly config: Shown;
  readonly origins: readonly Origin[];
  readonly defaults: Shown;
}

export const readConfig = (signal?: AbortSignal): Promise<ShownConfig> => get('/v1/config', {}, signal);

export interface ProxyPlace {
  /** `host:port` */
  readonly proxy: string;
  readonly caFile: string;
  readonly isKnown: boolean;
}

type Listener = { readonly host?: string; readonly port?: number };

const under = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Shown)[name] : undefined;

/** Where agents find the proxy; guessed for who may not read the configuration. */
export async function proxyPlace(): Promise<ProxyPlace> {
  const guessed = { proxy: `${location.hostname}:8080`, caFile: 'certs/ca.pem', isKnown: false };
  try {
    const { config } = await readConfig();
    const cert = under(under(config, 'authority'), 'cert');
    const caFile = typeof cert === 'string' ? cert : guessed.caFile;
    const listeners = under(under(config, 'proxy'), 'listen');
    const { host = '', port = 0 } = Array.isArray(listeners) ? (listeners[0] as Listener) : {};
    if (port === 0) return { ...guessed, caFile };
    // A listener on all addresses is found where this page was found.
    const name = /^(?:0\.0\.0\.0|::|)$/.test(host) ? location.hostname : host;
    return { proxy: `${name.includes(':') ? `[${name}]` : name}:${port}`, caFile, isKnown: true };
  } catch {
    return guessed;
  }
}
