import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A case of the public agent-egress-bench, as its SPEC.md describes it. */
export interface EgressCase {
  readonly id: string;
  readonly category: string;
  readonly title: string;
  readonly expected_verdict: 'block' | 'allow';
  readonly payload: EgressPayload;
}

/** Which fields there are depends on what the case sends. */
export interface EgressPayload {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content_type?: string;
  readonly body?: string;
  readonly response_body?: string;
  readonly jsonrpc_messages?: readonly JsonRpcMessage[];
  readonly agent_card?: object;
  readonly frames?: readonly Frame[];
}

export interface JsonRpcMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

export interface Frame {
  readonly opcode: 'text' | 'binary' | 'continuation';
  readonly payload: string;
  readonly encoding?: 'base64';
  readonly fin?: boolean;
  readonly rsv1?: boolean;
}

/** Reads all cases below a folder, in the order of their names. */
export function readCases(dir: string): EgressCase[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.json'));
  if (names.length === 0) throw new Error(`${dir} has no cases.`);
  return names.sort().map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')) as EgressCase);
}
