import type { ToolFacts } from '../../catalogue/catalogue.ts';

/** The names of a tool that rules may use. */
export type KnownTool = Omit<ToolFacts, 'title' | 'hosts'>;

/** The names that a policy is checked against. A list that is absent is not checked. */
export interface KnownNames {
  readonly tenants?: readonly string[];
  readonly environments?: readonly string[];
  readonly budgets?: readonly string[];
  readonly channelKinds?: readonly string[];
  readonly tools?: readonly KnownTool[];
  /** The ids of detectors. */
  readonly detectors?: readonly string[];
}
