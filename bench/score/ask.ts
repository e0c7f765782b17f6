import type { Case } from './corpus.ts';
import { openOwnGateway } from './gateway.ts';

/** What the gateway said of a body. */
export interface Answer {
  readonly classes: readonly string[];
  readonly isInjection: boolean;
  /** Undefined where nothing was redacted. */
  readonly sanitized: string | undefined;
}

export interface Asker {
  ask(wanted: Case): Promise<Answer>;
  close(): Promise<void>;
}

/** A gateway of its own that redacts all that may be redacted, and asks nobody. */
export async function openGateway(): Promise<Asker> {
  const posture = { pii: 'SANITIZE', phi: 'SANITIZE', bands: { HIGH: 'ALLOW', CRITICAL: 'ALLOW' } };
  const gateway = await openOwnGateway({ posture });
  const key = await gateway.mintKey();
  return {
    ask: async (wanted) => toAnswer(await gateway.post(pathOf(wanted), key, requestOf(wanted))),
    close: () => gateway.close(),
  };
}

const pathOf = ({ direction }: Case): string => (direction === 'response' ? '/v1/scan/response' : '/v1/scan');

const requestOf = ({ direction, method = 'POST', url, headers, body }: Case): unknown =>
  direction === 'response' ? { response_body: body } : { method, url, headers, body };

function toAnswer(answer: Record<string, unknown>): Answer {
  const classes = (answer['classifications'] ?? answer['data_classes']) as readonly string[];
  const injection = answer['injection'] as { readonly detected?: boolean } | undefined;
  const sanitized = answer['sanitized_body'];
  return { classes, isInjection: injection?.detected === true, sanitized: textOf(sanitized) };
}

export const textOf = (body: unknown): string | undefined =>
  body === undefined || body === null || typeof body === 'string'
    ? (body ?? undefined)
    : JSON.stringify(body);
