import type { Verb } from '../../core/call.ts';
import { hostOf } from '../addresses.ts';
import { textsOf, valuesAt } from '../body-path.ts';
import type { OperationSummary } from '../load/summary.ts';
import type { MessageMeaning } from './message-meaning.ts';

/*
 * Methods of the Agent2Agent protocol (A2A specification, 7 and 9): those of JSON-RPC as versions 0.2 and 0.3
 * name them, and as 1.0 does.
 */

/** Paths of an agent's card; the second is that of version 0.2. */
export const cardPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

const readMethods = new Set([
  ...[
    'tasks/get',
    'tasks/list',
    'tasks/resubscribe',
    'GetTask',
    'ListTasks',
    'SubscribeToTask',
    'TaskSubscription',
  ],
  ...['tasks/pushNotificationConfig/get', 'tasks/pushNotificationConfig/list', 'tasks/pushNotification/get'],
  ...['GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'ListTaskPushNotificationConfig'],
  ...[
    'agent/getAuthenticatedExtendedCard',
    'agent/authenticatedExtendedCard',
    'GetExtendedAgentCard',
    'GetAgentCard',
  ],
]);
const writeMethods = new Set([
  ...['message/send', 'message/stream', 'tasks/send', 'tasks/sendSubscribe', 'tasks/cancel'],
  ...['SendMessage', 'SendStreamingMessage', 'CancelTask'],
]);
/** Methods that say where an agent's results go from now on. */
const adminMethods = new Set([
  ...[
    'tasks/pushNotificationConfig/set',
    'tasks/pushNotificationConfig/delete',
    'tasks/pushNotification/set',
  ],
  ...[
    'SetTaskPushNotificationConfig',
    'CreateTaskPushNotificationConfig',
    'DeleteTaskPushNotificationConfig',
  ],
]);

/** Returns the verb of a method; undefined for one that the protocol lacks. */
export function a2aVerb(method: string): Verb | undefined {
  if (readMethods.has(method)) return 'READ';
  if (adminMethods.has(method)) return 'ADMIN';
  return writeMethods.has(method) ? 'WRITE' : undefined;
}

/** Places of a push configuration: in a request of its own, or beside a message. */
const pushPlaces = [
  ['pushNotificationConfig'],
  ['taskPushNotificationConfig', 'pushNotificationConfig'],
  ['config'],
  ['configuration', 'pushNotificationConfig'],
  ['configuration', 'pushNotification'],
  ['configuration', 'taskPushNotificationConfig'],
  ['pushNotification'],
  [],
];

/**
 * Returns the meaning of a message; undefined for a method that the protocol lacks. A message that says where
 * results go is ADMIN, and addresses the host there.
 */
export function a2aMeaning(method: string, params: unknown): MessageMeaning | undefined {
  const verb = a2aVerb(method);
  if (verb === undefined) return undefined;
  const meaning = { toolName: 'a2a', name: method, category: 'messaging' };
  const targets = verb === 'READ' ? [] : pushPlaces.flatMap((place) => targetAt(params, place));
  return targets.length > 0 ? { ...meaning, verb: 'ADMIN', principals: targets } : { ...meaning, verb };
}

function targetAt(params: unknown, place: readonly string[]): readonly string[] {
  return valuesAt(params, [...place, 'url'], true)
    .flatMap(textsOf)
    .map(hostOf);
}

export const a2aOperations: readonly OperationSummary[] = [
  ...[...readMethods, ...writeMethods, ...adminMethods].map((name) => ({
    name,
    category: 'messaging',
    verb: a2aVerb(name) ?? ('WRITE' as const),
    calls: [`rpc ${name}`],
  })),
  { name: 'agent_card', category: 'messaging', verb: 'READ', calls: cardPaths.map((path) => `GET ${path}`) },
];
