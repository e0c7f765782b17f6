import t from 'tap';
import { ConfigError, parseConfig } from '../../src/config/load.ts';
import { checkFixedKeys } from '../../src/config/reload.ts';
import type { Config } from '../../src/config/schema.ts';

const parse = (text: string): Config => parseConfig(text, { file: '/etc/gate/x.yaml', env: {} });

/** The keys for which a reload is refused; none where it is taken. */
function refusedKeys(before: Config, next: Config): string[] {
  try {
    checkFixedKeys(before, next);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes.map((it) => it.path);
    throw error;
  }
}

const cases: { text: string; want: string[] }[] = [
  { text: '', want: [] },
  { text: 'proxy: { listen: [127.0.0.1:8080] }\nstate: { url: embedded:data, timeout: 2s }', want: [] },
  {
    text: 'mode: monitor\nlimits: { max_headers: 5 }\ntenants: [{ id: a }]\nproxy: { require_auth: false }',
    want: [],
  },
  { text: 'proxy: { listen: 127.0.0.1:8082 }', want: ['proxy.listen'] },
  { text: 'control: { listen: [127.0.0.1:8081, "unix:/run/a"] }', want: ['control.listen'] },
  { text: 'state: { url: "embedded:./other" }', want: ['state.url'] },
  { text: 'authority: { key: other.pem }', want: ['authority'] },
  {
    text: 'workers: 2\nstate: { url: "redis://h" }\nproxy: { listen: "[::1]:1" }',
    want: ['proxy.listen', 'state.url', 'workers'],
  },
];

for (const { text, want } of cases) {
  t.test(
    `a reload that says "${text.replaceAll('\n', '; ')}" changes ${want.join(', ') || 'nothing fixed'}`,
    async (t) => {
      t.strictSame(refusedKeys(parse(''), parse(text)), want);
      t.strictSame(refusedKeys(parse(text), parse('')), want);
    },
  );
}
