import {
  Call,
  type CallFields,
  type Finding,
  type Identity,
  type Operation,
  type Threat,
} from '../../src/core/call.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { parseDescribed } from '../../src/core/target.ts';

/** A call as an entrance makes it, with what a test does not care about filled in. */
export function callOf(fields: Partial<Omit<CallFields, 'target'>> & { url?: string } = {}): Call {
  const { url = 'https://api.test.example/x', ...rest } = fields;
  const call = new Call({
    traceId: '01a1fd97-94c2-70dc-9d70-f38e0ce60b0f',
    entrance: 'scan',
    receivedAtMs: 0,
    clientAddress: '127.0.0.1',
    key: { prefix: 'iv_live_abcd', hash: '00' },
    method: 'POST',
    target: parseDescribed(url),
    headers: [],
    body: Buffer.alloc(0),
    contentType: '',
    contentEncoding: '',
    claimed: {},
    lastHead: undefined,
    ...rest,
  });
  call.safeName = ownName;
  return call;
}

export const findingOf = (fields: Partial<Finding> = {}): Finding => ({
  class: 'SECRETS',
  kind: 'some-token',
  confidence: 'high',
  location: 'body:$.a',
  part: 'body',
  start: 0,
  end: 1,
  atHome: false,
  vendorHosts: [],
  ...fields,
});

/** The identity of a key of one agent, which makes the call itself. */
export const identityOf = (fields: Partial<Identity> = {}): Identity => ({
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  keyPrefix: 'iv_live_abcd',
  tenantId: 'acme',
  envName: 'default',
  agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12',
  agentName: 'bot',
  ownAgent: { agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12', name: 'bot', runtimeType: null },
  permissions: new Set(),
  ...fields,
});

/** A POST to a host that no tool has. */
export const operationOf = (fields: Partial<Operation> = {}): Operation => ({
  toolName: 'custom_proxy',
  name: 'http_post',
  category: 'http',
  verb: 'WRITE',
  resource: {},
  principals: [],
  ...fields,
});

export const threatOf = (fields: Partial<Threat> = {}): Threat => ({
  feed: 'f',
  kind: 'url',
  indicator: 'i',
  reference: '',
  threat: '',
  location: 'body',
  ...fields,
});
