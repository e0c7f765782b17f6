import t from 'tap';
import { loadCatalogue } from '../../src/catalogue/catalogue.ts';

const megabyte = 1024 * 1024;
const catalogue = loadCatalogue(new URL('../../config/tools', import.meta.url).pathname);

t.test('a host tells how large a body its vendor takes, before any of it is read', async (t) => {
  const cases: readonly [url: string, bytes: number | undefined][] = [
    ['https://api.openai.com/v1/chat/completions', 32 * megabyte],
    ['https://eu.api.openai.com/v1/responses', 32 * megabyte],
    ['https://api.anthropic.com/v1/messages', 32 * megabyte],
    ['https://generativelanguage.googleapis.com/v1beta/models/gemini:generateContent', 32 * megabyte],
    ['https://api.mistral.ai/v1/chat/completions', 32 * megabyte],
    ['https://acme.openai.azure.com/openai/responses', 32 * megabyte],
    ['https://europe-west1-aiplatform.googleapis.com/v1/projects/p/x', 32 * megabyte],
    ['https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke', 25_000_000],
    ['https://acme-files.s3.eu-west-1.amazonaws.com/a/b', 5120 * megabyte],
    ['https://s3.eu-west-1.amazonaws.com/acme/a', 5120 * megabyte],
    ['https://sqs.eu-west-1.amazonaws.com/', undefined],
    ['https://upload.pypi.org/legacy/', 101 * megabyte],
    ['https://slack.com/api/chat.postMessage', undefined],
    ['https://files.slack.com/upload/v1/x', 1024 * megabyte],
    ['https://unknown.example/x', undefined],
  ];
  for (const [url, bytes] of cases) {
    const { host, pathname } = new URL(url);
    t.equal(catalogue.bodyLimits.at(host, pathname), bytes, url);
  }
});

t.test('a path may have a limit of its own, which no other spelling of the path gets', async (t) => {
  const at = (path: string) => catalogue.bodyLimits.at('api.openai.com', path);
  t.equal(at('/v1/files'), 512 * megabyte);
  t.equal(at('/v1/files/f1?x=/v1'), 512 * megabyte);
  for (const path of ['/v1/chat/files', '/v1', '/v1/FILES', '/x?/v1/files', ''])
    t.equal(at(path), 32 * megabyte, path);
});

t.test('a tool tells the most that it takes anywhere, for ways that hide its host', async (t) => {
  t.equal(catalogue.bodyLimits.ofTool('openai'), 512 * megabyte);
  t.equal(catalogue.bodyLimits.ofTool('github'), 2048 * megabyte);
  t.equal(catalogue.bodyLimits.ofTool('stripe'), undefined);
  t.equal(catalogue.bodyLimits.ofTool('no such tool'), undefined);
});

t.test('what a file adds to a tool leaves the limit of the tool as it is', async (t) => {
  const added = loadCatalogue(new URL('../../config/tools', import.meta.url).pathname, [
    { name: 'openai', title: 'OpenAI', hosts: ['models.corp.example'] },
  ]);
  t.equal(added.bodyLimits.at('api.openai.com', '/v1/responses'), 32 * megabyte);
  t.equal(added.bodyLimits.at('models.corp.example', '/v1/responses'), 32 * megabyte);
});
