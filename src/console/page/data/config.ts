import type { ShownConfig } from '../../../api/answers.ts';
import { get } from './api.ts';

/** A part of the configuration, with names in snake_case and secrets hidden. */
export type Shown = ShownConfig['config'];

export const fetchConfig = (signal?: AbortSignal): Promise<ShownConfig> => get('/v1/config', {}, signal);

export interface ProxyPlace {
  /** The `host:port` of the proxy. */
  readonly proxy: string;
  readonly caFile: string;
  readonly isKnown: boolean;
}

type Listener = { readonly host?: string; readonly port?: number };

const under = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Shown)[name] : undefined;

/** Returns where agents find the proxy. It is guessed where the session may not read the configuration. */
export async function proxyPlace(): Promise<ProxyPlace> {
  const guessed = { proxy: `${location.hostname}:8080`, caFile: 'certs/ca.pem', isKnown: false };
  try {
    const { config } = await fetchConfig();
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
