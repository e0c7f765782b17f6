import type { CallSoFar, ReceivedCall } from '../../core/call.ts';
import { type NameReader, ownName, type SafeName } from '../../core/safe-name.ts';
import { redactedMethod } from '../../decision/trace/redacted.ts';
import { shownOperation } from '../../decision/trace/safe-names.ts';

/*
 * Attributes of a call's span, by the names of OpenTelemetry's semantic conventions (HTTP, GenAI, MCP) where
 * they have one. They never hold a path, a query, a header or a text of the body. The names of model and tool
 * are the exception: they are read for secrets like all names that callers choose.
 */

export type AttributeValue = SafeName | number | boolean | readonly SafeName[];
export type Attributes = Record<string, AttributeValue>;

/** OpenTelemetry's names of model providers, by the tool of the catalogue. */
const providers: ReadonlyMap<string, string> = new Map([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['gemini', 'gcp.gemini'],
  ['mistral', 'mistral_ai'],
  ['cohere', 'cohere'],
]);

/** OpenTelemetry's names of what models do, by the operation of the catalogue. */
const modelOperations: ReadonlyMap<string, string> = new Map([
  ['create_chat_completion', 'chat'],
  ['create_message', 'chat'],
  ['create_response', 'chat'],
  ['create_completion', 'text_completion'],
  ['create_embedding', 'embeddings'],
  ['create_embeddings', 'embeddings'],
  ['embed_content', 'embeddings'],
  ['generate_content', 'generate_content'],
]);

const mcpMethods: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'resources/list', 'resources/templates/list'],
  ...['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'prompts/list', 'prompts/get'],
  ...['completion/complete', 'logging/setLevel'],
]);

/** Returns the attributes of the place that a call goes to, and of what it does there. */
export function targetAttributes(call: CallSoFar): Attributes {
  const { received, inspection, operation } = call;
  // What stands in the names of a call that was not read is unknown.
  if (!inspection) return {};
  const { safeName, head } = inspection;
  const { scheme, host, port } = received.target;
  const findings = call.marks?.findings ?? inspection.findings;
  const attributes: Attributes = {
    'http.request.method': redactedMethod({ received, head, findings }),
    'url.scheme': ownName(scheme),
    'server.address': safeName(host),
    'server.port': port,
  };
  if (!operation) return attributes;
  return {
    ...attributes,
    'postern.tool': safeName(operation.toolName),
    'postern.operation': shownOperation({ safeName }, operation),
    ...modelAttributes(received, operation.toolName, operation.name, safeName),
    ...(operation.toolName === 'mcp' ? mcpAttributes(received, safeName) : {}),
  };
}

/** Returns the attributes of the decision, its reasons and its risk. */
export function decisionAttributes({ received, verdict, risk, ...call }: CallSoFar): Attributes {
  const identity = call.admission?.identity ?? call.identity;
  const attributes: Attributes = { 'postern.entrance': ownName(received.entrance) };
  attributes['postern.trace.id'] = ownName(received.traceId);
  if (identity) {
    attributes['postern.tenant.id'] = ownName(identity.tenantId);
    attributes['gen_ai.agent.id'] = ownName(identity.agentId);
  }
  if (verdict) {
    attributes['postern.decision'] = ownName(verdict.decision);
    attributes['postern.reasons'] = verdict.reasonCodes.map(ownName);
  }
  if (risk) {
    attributes['postern.risk.band'] = ownName(risk.band);
    attributes['postern.risk.score'] = risk.score;
  }
  return attributes;
}

function modelAttributes(
  received: ReceivedCall,
  tool: string,
  operation: string,
  safeName: NameReader,
): Attributes {
  const [provider, kind] = [providers.get(tool), modelOperations.get(operation)];
  if (provider === undefined || kind === undefined) return {};
  const model = modelOf(received);
  return {
    'gen_ai.provider.name': ownName(provider),
    'gen_ai.operation.name': ownName(kind),
    ...(model === undefined ? {} : { 'gen_ai.request.model': safeName(model) }),
  };
}

/**
 * The number of bytes of a body in which its model is looked for: bodies may have megabytes, and most begin
 * with it.
 */
const modelBytesMax = 4096;

function modelOf(received: ReceivedCall): string | undefined {
  const parsed = textIn(bodyOf(received), 'model');
  if (parsed !== undefined) return parsed;
  const { readings, body, target } = received;
  const beginning = (readings.plain ?? body).subarray(0, modelBytesMax).toString('latin1');
  return (
    /"model"\s*:\s*"([\w.:/@-]{1,128})"/.exec(beginning)?.[1] ??
    /\/models\/([\w.@-]{1,128})/.exec(target.path)?.[1]
  );
}

function mcpAttributes(received: ReceivedCall, safeName: NameReader): Attributes {
  const body = bodyOf(received);
  const method = textIn(body, 'method');
  if (method === undefined || !(mcpMethods.has(method) || method.startsWith('notifications/'))) return {};
  const attributes: Attributes = { 'mcp.method.name': safeName(method) };
  const tool = method === 'tools/call' ? textIn(fieldIn(body, 'params'), 'name') : undefined;
  if (tool === undefined) return attributes;
  attributes['gen_ai.operation.name'] = ownName('execute_tool');
  attributes['gen_ai.tool.name'] = safeName(tool);
  return attributes;
}

/** Returns the body as the pipeline has read it; undefined where it has none or several readings. */
function bodyOf({ readings: { parsed } }: ReceivedCall): unknown {
  return parsed?.kind === 'value' && parsed.readings.length === 1 ? parsed.readings[0] : undefined;
}

const fieldIn = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;

function textIn(value: unknown, name: string): string | undefined {
  const found = fieldIn(value, name);
  return typeof found === 'string' ? found : undefined;
}
