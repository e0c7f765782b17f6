import { randomBytes, randomUUID } from 'node:crypto';
import t from 'tap';
import { AssessedCall, DecidedCall, InspectedCall } from '../../src/core/call.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { CredentialHomes } from '../../src/credentials/credential-homes.ts';
import { headText } from '../../src/inspect/parts/head-text.ts';
import type { HomeBinding, HomeStore } from '../../src/state/store.ts';
import { type CallParts, callOf, findingOf, identityOf } from '../support/call.ts';
import { tenantSecrets } from '../support/noticing.ts';

/** A state that counts how often it is asked, and can be away. */
function startState() {
  const homes = new Map<string, string>();
  const state = { asked: 0, bound: [] as HomeBinding[], isAway: false };
  const reach = (): void => {
    if (state.isAway) throw new GatewayError('STATE_UNAVAILABLE', 'The state does not answer.');
  };
  const store: HomeStore = {
    homesOf(_, credentials) {
      reach();
      state.asked += 1;
      return credentials.map((it) => homes.get(it));
    },
    async bindHomes(binding) {
      reach();
      state.bound.push(binding);
      for (const { credential } of binding.credentials) homes.set(credential, binding.home);
      return 'bound';
    },
  };
  return { state, homes: new CredentialHomes(store, tenantSecrets) };
}

/** A call with a bearer token that a detector has found. */
function callWith(token: string, host: string, receivedAtMs = 0, more: CallParts = {}) {
  const headers = ['Authorization', `Bearer ${token}`];
  const fields = { url: `https://${host}/x`, method: 'GET', headers, receivedAtMs, ...more };
  const head = Buffer.from(headText(callOf(fields)), 'latin1');
  const start = head.indexOf(token);
  const end = start + token.length;
  const findings = [findingOf({ kind: 'authorization-bearer', part: 'head', start, end })];
  return callOf({ head, findings, ...fields });
}

/** The call with what `homes` has marked in it. */
async function markedBy(homes: Pick<CredentialHomes, 'mark'>, call: ReturnType<typeof callWith>) {
  const { verdict, isMonitored, incidents } = call;
  const inspected = new InspectedCall(call, call.inspection, await homes.mark(call));
  const assessed = new AssessedCall(inspected, call.evidence, call.risk);
  return new DecidedCall(assessed, { verdict, isMonitored, incidents });
}

const newToken = (): string => randomBytes(32).toString('base64url');

t.test('the state is asked for a credential once, and not again for a good while', async (t) => {
  const { state, homes } = startState();
  const token = newToken();
  for (const host of ['api.company.test', 'www.company.test', 'api.company.test']) {
    const call = await markedBy(homes, callWith(token, host));
    t.match(call.findings, [{ atHome: true }], host);
    t.equal(await homes.bind(call), true);
  }
  t.equal(state.asked, 1);
  t.equal(state.bound.length, 1);
  const later = await homes.mark(callWith(token, 'api.company.test', 30 * 86_400_000));
  t.ok(later.homing, 'then its home is kept for longer');
  const text = JSON.stringify(state.bound);
  t.notMatch(text, token);
  t.notMatch(text, 'company', 'the state has neither the credential nor the domain');
});

t.test('the state is asked for the pieces of a composed token once in an hour', async (t) => {
  const { state, homes } = startState();
  const token = `${newToken()}.${newToken()}~${newToken()}`;
  const ask = async (atMs: number): Promise<number> => {
    const before = state.asked;
    const call = await markedBy(homes, callWith(token, 'api.company.test', atMs));
    await homes.bind(call);
    t.match(call.findings, [{ atHome: true }]);
    return state.asked - before;
  };
  t.same([await ask(0), await ask(1), await ask(3_599_999), await ask(3_600_000)], [1, 0, 0, 1]);
});

t.test('while the state is away, only what the node knows is at home', async (t) => {
  const { state, homes } = startState();
  const [known, unknown] = [newToken(), newToken()];
  await homes.bind(await markedBy(homes, callWith(known, 'api.company.test')));
  state.isAway = true;
  const again = await homes.mark(callWith(known, 'api.company.test'));
  t.match(again.findings, [{ atHome: true }]);
  const other = await homes.mark(callWith(unknown, 'api.company.test'));
  t.match(other.findings, [{ atHome: false }]);
  t.equal(other.homing, undefined);
  state.isAway = false;
  const late = await markedBy(homes, callWith(unknown, 'api.company.test'));
  state.isAway = true;
  t.equal(await homes.bind(late), false, 'what cannot be bound has no home');
});

t.test('a key has the room of its own agent, whatever agents its calls name', async (t) => {
  const { state, homes } = startState();
  const identity = identityOf();
  const named = { identity: { ...identity, agentId: randomUUID() } };
  await homes.bind(await markedBy(homes, callWith(newToken(), 'api.company.test', 0, named)));
  t.match(state.bound, [{ agentId: identity.ownAgent.agentId }]);
});

t.test('calls in which nothing was found do not ask', async (t) => {
  const { state, homes } = startState();
  await homes.mark(callWith(newToken(), 'api.company.test', 0, { findings: [] }));
  t.equal(state.asked, 0);
});
