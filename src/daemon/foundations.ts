import type { ToolTables } from '../catalogue/catalogue.ts';
import type { Log } from '../core/log.ts';
import type { TokenBook } from '../credentials/issued-tokens.ts';
import type { TenantSecrets } from '../credentials/tenant-secrets.ts';
import type { Vault } from '../credentials/vault.ts';
import type { AnswerDesk } from '../decision/approvals/answer-desk.ts';
import type { ApprovalDesk } from '../decision/approvals/approval-desk.ts';
import type { IncidentDesk } from '../decision/approvals/incident-desk.ts';
import type { AuthThrottles } from '../decision/auth-throttle.ts';
import type { GateStatus } from '../decision/gate.ts';
import type { Events } from '../decision/trace/events.ts';
import type { TraceFeed } from '../decision/trace/trace-feed.ts';
import type { InjectionReader } from '../inspect/injection/reader.ts';
import type { MeaningReader } from '../inspect/intent/reader.ts';
import type { BeginningMemory } from '../inspect/segments/known-beginning.ts';
import type { Readers } from '../inspect/threads/readers.ts';
import type { NotificationDesk } from '../notify/notifications.ts';
import type { Feeds } from '../risk/feeds/feeds.ts';
import type { PrivilegeTable } from '../risk/signals/privileges.ts';
import type { RiskyParameters } from '../risk/signals/risky-parameters.ts';
import type { Journal } from '../state/journal.ts';
import type { Store } from '../state/store.ts';
import type { Engines } from '../tenants/engines.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Exporter } from './telemetry/exporter.ts';

/** The data that comes with the program. */
export interface PackagedData {
  readonly injections: InjectionReader;
  readonly meanings: MeaningReader;
  readonly riskyParameters: RiskyParameters;
  readonly privileges: PrivilegeTable;
  readonly toolTables: ToolTables;
}

/** Services that people and calls wait for. */
export interface Desks {
  readonly approvals: ApprovalDesk;
  readonly traceFeed: TraceFeed;
  readonly answers: AnswerDesk;
  readonly incidents: IncidentDesk;
  readonly events: Events;
  readonly notifications: NotificationDesk;
}

/** Services that outlive reloads. */
export interface Foundations extends PackagedData, Desks {
  readonly store: Store;
  readonly journal: Journal;
  readonly engines: Engines;
  readonly beginnings: BeginningMemory;
  readonly readers: Readers;
  readonly feeds: Feeds;
  readonly pepper: Buffer;
  readonly secrets: TenantSecrets;
  readonly vault: Vault;
  readonly issuedTokens: TokenBook;
  readonly throttles: AuthThrottles;
  readonly metrics: Metrics;
  readonly exporter: Pick<Exporter, 'add'>;
  readonly log: Log;
  readonly registeredTenants: Set<string>;
  ownListeners(): readonly { address: string; port: number }[];
  controlUrl(): string;
  status(): GateStatus;
}
