import type { BenignFile } from './files.ts';

/** A call as `/v1/scan` describes it. */
export interface DescribedCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly body_encoding?: 'base64';
}

type Way = (files: readonly BenignFile[], random: () => number) => DescribedCall;

const json = { 'content-type': 'application/json' };

/** Files as tool results of one conversation. */
const chat: Way = (files) => ({
  method: 'POST',
  url: 'https://api.openai.com/v1/chat/completions',
  headers: json,
  body: {
    model: 'gpt-5.1',
    messages: [
      { role: 'system', content: 'You are a careful engineer. Answer in a few words.' },
      { role: 'user', content: 'Read these files and tell me what they are for.' },
      ...files.flatMap(({ name, bytes }, index) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: `call_${index}`,
              type: 'function',
              function: { name: 'read_file', arguments: JSON.stringify({ path: name }) },
            },
          ],
        },
        { role: 'tool', tool_call_id: `call_${index}`, content: bytes.toString('utf8') },
      ]),
    ],
  },
});

/** One file, committed. */
const contents: Way = ([file]) => ({
  method: 'PUT',
  url: `https://api.github.com/repos/acme/app/contents/vendor/${file?.name}`,
  headers: json,
  body: { message: `Add ${file?.name}`, content: file?.bytes.toString('base64'), branch: 'main' },
});

const raw: Way = ([file]) => {
  const type = file?.isText ? 'text/plain; charset=utf-8' : 'application/octet-stream';
  return { ...asBytes(file?.bytes ?? Buffer.alloc(0), type), url: 'https://files.acme.dev/upload' };
};

const multipart: Way = (files, random) => {
  const boundary = `----formdata-${Math.floor(random() * 2 ** 48).toString(36)}`;
  const parts = files.flatMap(({ name, bytes, isText }, index) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file${index}"; filename="${name}"\r\nContent-Type: ${isText ? 'text/plain' : 'application/octet-stream'}\r\n\r\n`,
    ),
    bytes,
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
  return {
    ...asBytes(body, `multipart/form-data; boundary=${boundary}`),
    url: 'https://files.acme.dev/documents',
  };
};

const asBytes = (bytes: Buffer, type: string) =>
  ({
    method: 'POST',
    headers: { 'content-type': type },
    body: bytes.toString('base64'),
    body_encoding: 'base64',
  }) as const;

/** Rows of an index of documents. */
const records: Way = (files) => ({
  method: 'POST',
  url: 'https://search.acme.dev/v1/documents/batch',
  headers: json,
  body: {
    documents: files.map(({ name, kind, bytes, isText }, index) => ({
      id: index,
      name,
      kind,
      size: bytes.length,
      ...(isText ? { text: bytes.toString('utf8') } : { encoding: 'base64', data: bytes.toString('base64') }),
    })),
  },
});

/** A picture or another file in a question to a model. */
const question: Way = ([file]) => ({
  method: 'POST',
  url: 'https://api.anthropic.com/v1/messages',
  headers: json,
  body: {
    model: 'claude-opus-4-5',
    max_tokens: 1024,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: {
              type: 'base64',
              media_type: 'application/octet-stream',
              data: file?.bytes.toString('base64'),
            },
          },
          { type: 'text', text: 'What is in this file?' },
        ],
      },
    ],
  },
});

/** Ways to send texts, and whether several go in one. */
export const textWays = { chat, contents, raw, multipart, records } as const;
export const binaryWays = { contents, question, raw, multipart, records } as const;
export const takesMany: ReadonlySet<string> = new Set(['chat', 'multipart', 'records']);
