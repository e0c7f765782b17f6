import { createReadStream } from 'node:fs';

/** Returns the content of the file, or of standard input; rejects above `bytesMax`. */
export async function readInput(file: string | undefined, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === undefined ? process.stdin : createReadStream(file)) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error(`${file ?? 'standard input'} has more than ${bytesMax} bytes.`);
      chunks.push(chunk);
    }
  } catch (error) {
    // What fails when the file is open already does not name it.
    throw Object.assign(error as Error, { path: file });
  }
  return Buffer.concat(chunks);
}

const enter = /[\r\n]/;
const interrupt = '\u0003';
const endOfInput = '\u0004';
const backspaces: ReadonlySet<string> = new Set(['\b', '\u007f']);

/** Reads one line typed at a terminal without showing it. Rejects on Ctrl-C, and over `charactersMax`. */
export async function readHidden(prompt: string, charactersMax: number): Promise<string> {
  const { stdin, stderr } = process;
  // Raw mode comes first, since the terminal would show what is typed between the prompt and this.
  stdin.setRawMode(true);
  stderr.write(prompt);
  stdin.setEncoding('utf8');
  let line = '';
  try {
    for await (const typed of stdin)
      for (const it of String(typed)) {
        if (enter.test(it) || it === endOfInput) return line;
        if (it === interrupt) throw new Error('interrupted.');
        line = backspaces.has(it) ? [...line].slice(0, -1).join('') : line + it;
        if (line.length > charactersMax) throw new Error(`a secret has at most ${charactersMax} characters.`);
      }
    return line;
  } finally {
    stdin.setRawMode(false);
    stderr.write('\n');
  }
}
