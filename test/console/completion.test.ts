import t from 'tap';
import { completionAt } from '../../src/console/page/data/completion.ts';

/** What is offered at the `|` of a text. */
const at = (text: string, isAsked = false): string => {
  const place = text.indexOf('|');
  return completionAt(text.replace('|', ''), place, isAsked).words.join('').trim();
};

t.test('words are those of the place that is written at', (t) => {
  const cases: Record<string, [text: string, words: string]> = {
    'the policy itself': ['na|', 'name:'],
    'a rule': ['rules:\n  - rule_id: a\n    esc|', 'escalate_to:'],
    'a rule that begins': ['rules:\n  - ru|', 'rule_id:'],
    'a list as deep as its key': ['rules:\n- ru|', 'rule_id:'],
    'what is matched, in one line': [
      'rules:\n  - match: { methods: [GET], tool_n|',
      'tool_name: tool_names:',
    ],
    'what is matched, in lines': ['rules:\n  - match:\n      or|', 'org_patterns:'],
    'after what was matched': ['rules:\n  - match:\n      verbs: [READ]\n    con|', 'condition:'],
    'a rule in braces': ['rules:\n  - { rule_id: x, pri|', 'priority:'],
    'a condition': ['rules:\n  - condition:\n      has_|', 'has_data_class: has_detector: has_signal:'],
    'within a condition': ['rules:\n  - condition: { time_of_day_outside: { st|', 'start:'],
    'a value': ['rules:\n  - action: D|', 'DENY'],
    'a signal': ['rules:\n  - condition: { has_signal: [PROM|', 'PROMPT_INJECTION'],
    'a value that begins': ['rules:\n  - action: |', 'ALLOWDENYSANITIZEREQUIRE_APPROVALOPEN_INCIDENT'],
    'in a list': ['rules:\n  - match: { methods: [GET, PA|', 'PATCH'],
    'in small letters': ['mode: mon|', 'monitor'],
    'a value of no list': ['name: na|', ''],
    'a word that is whole': ['mode: monitor|', ''],
    'nothing begun': ['rules:\n  - |', ''],
  };
  for (const [name, [text, words]] of Object.entries(cases)) t.equal(at(text), words, name);
  t.match(at('rules:\n  - |', true), /^rule_id: priority: match:/, 'all, where one asks');
  t.end();
});
