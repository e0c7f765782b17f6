export { type CompiledInput, compilePolicies, type PolicySet } from './compile.ts';
export { compileMatch } from './compile-match.ts';
export type { PolicyDecision, WouldBe } from './decide.ts';
export type { Facts } from './facts.ts';
export { parsePath, type Step, sumAt } from './json-path.ts';
export type { MatchFacts } from './match.ts';
export { type PolicyFile, parsePolicyFile } from './policy-file.ts';
export {
  applySchema,
  type PolicyDocument,
  type Rule,
  type RuleAction,
  ruleActions,
  ruleSchema,
} from './schema.ts';
export {
  type KnownNames,
  type PolicyError,
  parseStoredRules,
  type Validation,
  validatePolicy,
} from './validate.ts';
