/*
 * `postern/sdk` is what agents use of a gateway. It needs web standards alone and has no dependency, so that
 * it runs in Node, Deno and browsers. It knows nothing of the gateway but its API, and the gateway knows
 * nothing of it.
 */
export type {
  ApprovalResult,
  ApprovalState,
  Decision,
  EphemeralKey,
  Finding,
  ResponseScanResult,
  RiskBand,
  ScanResult,
  Signal,
} from './answers.ts';
export type { WaitOptions } from './approval.ts';
export { createPostern } from './client.ts';
export type { ConnectionOptions } from './connection.ts';
export type { HeaderFields } from './described.ts';
export {
  type ClientCode,
  type FieldError,
  PosternApprovalRequired,
  PosternDenied,
  PosternError,
  type PosternErrorCode,
  type ProblemCode,
} from './errors.ts';
export type {
  AnsweredCall,
  AskOptions,
  CallerFields,
  EphemeralKeyRequest,
  GuardOptions,
  Postern,
  PosternOptions,
  ScanCall,
} from './postern.ts';
