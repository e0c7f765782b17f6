import { validateConfig } from '../../src/config/load.ts';
import type { TenantConfig } from '../../src/config/schema.ts';
import {
  AdmittedCall,
  AssessedCall,
  type BodyReadings,
  bareCall,
  type CallAdmission,
  type CallDecision,
  ClassifiedCall,
  DecidedCall,
  type Finding,
  type Identity,
  InspectedCall,
  type Inspection,
  noEvidence,
  notInspected,
  type Operation,
  plainAdmission,
  type ReceivedFields,
  type Risk,
  type RiskEvidence,
  type Threat,
} from '../../src/core/call.ts';
import { type CallHistory, noHistory } from '../../src/core/history.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { parseDescribed } from '../../src/core/target.ts';
import { verdictOf } from '../decision/verdict.ts';

/** The facts of a call that a test cares about, of whatever state they are. */
export type CallParts = { readonly url?: string } & Partial<Omit<ReceivedFields, 'target'>> &
  Partial<Pick<ClassifiedCall, 'operation' | 'destination'>> &
  Partial<Omit<CallAdmission<TenantConfig>, 'history'>> &
  Partial<CallHistory> &
  Partial<Inspection> &
  Partial<Pick<InspectedCall['marks'], 'knownCredentials'>> &
  Partial<RiskEvidence> &
  Partial<Risk> &
  Partial<CallDecision> &
  Partial<Pick<BodyReadings, 'plain' | 'unreadable' | 'isOutOfTime'>>;

/** The tenant `acme` with these settings. */
export function tenantOf(settings: Readonly<Record<string, unknown>> = {}): TenantConfig {
  const config = validateConfig({ tenants: [{ id: 'acme', ...settings }] }, { file: undefined, env: {} });
  return config.tenants.get('acme') ?? config.defaultTenant('acme');
}

const acme = tenantOf();

/**
 * A call in its last state, with what a test does not care about filled in: a clean one that is allowed. It is a call in every earlier state
 * as well, and `received` is what an entrance would have made.
 */
export function callOf(fields: CallParts = {}): DecidedCall<TenantConfig> {
  const { url = 'https://api.test.example/x' } = fields;
  const received = bareCall(
    over(
      {
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
        bodyBytesMax: undefined,
        message: undefined,
        wayCredential: undefined,
        opensWebSocket: false,
        isAnonymous: false,
        isAwaited: () => true,
      },
      fields,
    ),
  );
  const { plain, unreadable, isOutOfTime } = fields;
  if (plain) received.readings.plain = plain;
  received.readings.noteUnreadable(unreadable, isOutOfTime ?? false);
  if (isOutOfTime) received.readings.isOutOfTime = true;
  const { operation = operationOf(), destination = '' } = fields;
  const classified = new ClassifiedCall(received, operation, destination);
  const admitted = new AdmittedCall(classified, {
    ...over(plainAdmission(fields.tenant ?? acme, identityOf()), fields),
    history: over(noHistory, fields),
  });
  const inspected = new InspectedCall(admitted, over({ ...notInspected, safeName: ownName }, fields));
  const { knownCredentials = [] } = fields;
  const marked = new InspectedCall(admitted, inspected.inspection, { ...inspected.marks, knownCredentials });
  const assessed = new AssessedCall(marked, over(noEvidence, fields), over(lowRisk, fields));
  const undecided: CallDecision = { verdict: verdictOf('ALLOW'), isMonitored: false, incidents: [] };
  return new DecidedCall(assessed, over(undecided, fields));
}

const lowRisk: Risk = {
  ...{ signals: [], score: 0, band: 'LOW', residualBand: 'LOW' },
  ...{ parts: [], trustModifier: 0, floor: 0 },
};

/** The defaults with those of `fields` that have their names. */
const over = <T extends object>(defaults: T, fields: object): T => ({
  ...defaults,
  ...Object.fromEntries(Object.entries(fields).filter(([name]) => name in defaults)),
});

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
