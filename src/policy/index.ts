export {
  findWords,
  hiddenNameEnd,
  type Words,
  type WordsFound,
  wordsOfList,
} from '../inspect/match/rule-words.ts';
export { compileInSlices, compilePolicies, type PolicySet } from './compile.ts';
export type { CompiledInput } from './compiled-rule.ts';
export type { PolicyDecision, WouldBe } from './decide.ts';
export type { BodyFacts, Facts } from './facts.ts';
export { PlaceTree } from './match/body-places.ts';
export { compileMatch } from './match/compile-match.ts';
export { foldName, parsePath } from './match/json-path.ts';
export type { MatchFacts } from './match/match.ts';
export { type FileProblem, type PolicyFile, parsePolicyFile } from './policy-file.ts';
export {
  applySchema,
  type PolicyDocument,
  type Rule,
  type RuleAction,
  ruleActions,
  ruleSchema,
} from './schema.ts';
export {
  parseStoredRules,
  type Validation,
  validatePolicy,
} from './validate.ts';
export type { KnownNames, KnownTool } from './warnings/known-names.ts';
