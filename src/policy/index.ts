export {
  findWords,
  hiddenNameEnd,
  type Words,
  type WordsFound,
  wordsOfList,
} from '../inspect/match/rule-words.ts';
export { PlaceTree } from './body-places.ts';
export { type CompiledInput, compileInSlices, compilePolicies, type PolicySet } from './compile.ts';
export { compileMatch } from './compile-match.ts';
export type { PolicyDecision, WouldBe } from './decide.ts';
export type { Facts } from './facts.ts';
export { foldName, parsePath } from './json-path.ts';
export type { KnownNames, KnownTool } from './known-names.ts';
export type { MatchFacts } from './match.ts';
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
