import t from 'tap';
import type { ToolConcern } from '../../../src/core/call.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { mcpDrift } from '../../../src/risk/signals/mcp-drift.ts';
import { defaultWeights, riskOf } from '../../../src/risk/signals/score.ts';
import { callOf } from '../../support/call.ts';

const concern = (kinds: ToolConcern['kinds'], tool = 'pay'): ToolConcern => ({
  tool: ownName(tool),
  kinds,
  sinceMs: Date.UTC(2026, 2, 4),
  untilMs: Date.UTC(2026, 2, 11),
});

function signalOf(...concerns: readonly ToolConcern[]) {
  const call = callOf({ toolConcerns: concerns });
  return mcpDrift.assess(call, call.evidence);
}

t.test('a concern is a signal, and one for a tool that turned bad is the gravest', (t) => {
  t.equal(signalOf(), undefined);
  const cases: readonly (readonly [kinds: ToolConcern['kinds'], score: number, risk: number])[] = [
    [['added'], 0.5, 0.25],
    [['unread'], 0.6, 0.25],
    [['risky'], 0.6, 0.25],
    [['changed'], 0.8, 0.25],
    [['injected'], 0.9, 0.25],
    [['injected', 'risky'], 0.9, 0.25],
    [['changed', 'risky'], 1, 0.5],
    [['added', 'injected'], 1, 0.5],
  ];
  for (const [kinds, score, risk] of cases) {
    const signal = signalOf(concern(kinds));
    t.match(signal, { engine: 'correlation', name: 'MCP_TOOL_DRIFT', score }, kinds.join());
    t.equal(riskOf(signal ? [signal] : [], defaultWeights), risk, kinds.join());
    t.equal(riskOf(signal ? [signal] : [], {}), risk, 'whatever the weights');
  }
  t.equal(signalOf(concern(['added']), concern(['changed', 'injected'], 'x'))?.score, 1);
  t.equal(riskOf([], defaultWeights), 0);
  t.end();
});

t.test('it says of which tool what is known since when, and not of too many', (t) => {
  t.equal(
    signalOf(concern(['changed', 'unread']), concern(['added'], '*'))?.details,
    'tool pay: its definition has changed, the list of tools could not be read to its end (since 2026-03-04T00:00:00.000Z); ' +
      'some tool of this server: it was not on the list before (since 2026-03-04T00:00:00.000Z)',
  );
  const many = Array.from({ length: 1_000 }, (_, at) => concern(['changed', 'risky', 'injected'], `t${at}`));
  t.ok((signalOf(...many)?.details.length ?? 0) < 4_000);
  t.end();
});
