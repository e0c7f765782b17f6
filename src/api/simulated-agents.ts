import type { AgentStatus, Identity, OwnAgent } from '../core/call.ts';
import type { Gate } from '../decision/gate.ts';
import type { AgentRecord } from '../state/store.ts';
import { kept } from '../util/kept.ts';
import { type Caller, operatorOf } from './route.ts';

/** The id in whose name simulated calls are made, where no agent is named and the caller is no key. */
const nobody = '00000000-0000-4000-8000-000000000000';

export interface SimulatedAgent {
  readonly identity: Identity;
  readonly status: AgentStatus;
}

/** Looks up the agents of one simulation, each of them once. */
export class SimulatedAgents {
  readonly #gate: Gate;
  readonly #tenantId: string;
  readonly #caller: Caller;
  readonly #agents = new Map<string, Promise<AgentRecord | undefined>>();
  readonly #keys = new Map<string, Promise<OwnAgent | undefined>>();
  #suspension: Promise<boolean> | undefined;

  constructor(gate: Gate, tenantId: string, caller: Caller) {
    this.#gate = gate;
    this.#tenantId = tenantId;
    this.#caller = caller;
  }

  /**
   * Returns who makes a call that names this agent and environment: the agent, with a key of its own. An
   * agent that is not known is as it would be once registered. Without a name it is the caller's agent.
   */
  async of(named: string | undefined, envName: string | undefined): Promise<SimulatedAgent> {
    const own = this.#caller.kind === 'key' ? this.#caller.identity : undefined;
    const agentId = named ?? own?.agentId ?? nobody;
    const agent = await this.#agent(agentId);
    const name = agent?.name ?? agentId;
    const identity: Identity = {
      keyId: own?.keyId ?? nobody,
      keyPrefix: operatorOf(this.#caller),
      tenantId: this.#tenantId,
      envName: envName ?? (named === undefined ? own?.envName : agent?.envName) ?? this.#firstEnvironment(),
      agentId,
      agentName: name,
      ownAgent: { agentId, name, runtimeType: agent?.runtimeType ?? null },
      permissions: own?.permissions ?? new Set(),
    };
    const status = (await this.#isTenantSuspended()) ? 'tenant-suspended' : (agent?.status ?? 'active');
    return { identity, status };
  }

  /** Returns the agent of a key; undefined where the key is not known any more. */
  ownerOf(keyId: string): Promise<OwnAgent | undefined> {
    return kept(this.#keys, keyId, async () => {
      const key = await this.#gate.store.keyById(this.#tenantId, keyId);
      return key && this.#agent(key.agentId);
    });
  }

  #agent(agentId: string): Promise<AgentRecord | undefined> {
    return kept(this.#agents, agentId, async () => {
      const agent = await this.#gate.store.agentById(agentId);
      return agent?.tenantId === this.#tenantId ? agent : undefined;
    });
  }

  #isTenantSuspended(): Promise<boolean> {
    this.#suspension ??= this.#gate.store.suspensionOf(this.#tenantId).then((it) => it !== undefined);
    return this.#suspension;
  }

  #firstEnvironment(): string {
    return this.#gate.tenants.find(this.#tenantId)?.environments[0] ?? 'default';
  }
}
