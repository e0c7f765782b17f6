import type { ToolFacts } from '../../catalogue/catalogue.ts';

/** What of a tool rules may name. */
export type KnownTool = Omit<ToolFacts, 'title' | 'hosts'>;

/** What a policy is checked against. A list that is left out is not checked. */
export interface KnownNames {
  readonly tenants?: readonly string[];
  readonly environments?: readonly string[];
  readonly budgets?: readonly string[];
  readonly channelKinds?: readonly string[];
  readonly tools?: readonly KnownTool[];
}
