import type { MeaningReader } from '../../src/inspect/intent/reader.ts';

const rounds = 3000;
const textBytes = 4096;

/** Texts that cost least and most: plain words, prose that is full of the lexicon's words, and nothing but one of them. */
const texts: Readonly<Record<string, string>> = {
  'a chat, plain words':
    'model assistant please summarise the quarterly report and list open items for team with dates. ',
  'prose about these things':
    'Users cannot delete all backups of the production database, and nobody may send the customer list to a personal account. ',
  'one word, over and over': 'delete ',
  'short words that mean much':
    'get all add me use db take logs give repo set mfa make prod drop main send vms mail home zip keys run bot ',
  'marks only': '"*": ',
};

/** Prints the median and the 99th percentile for 4 KB of each text. */
export function measure(reader: MeaningReader): void {
  for (const [name, text] of Object.entries(texts)) {
    const bytes = Buffer.from(text.repeat(Math.ceil(textBytes / text.length)).slice(0, textBytes));
    const samples: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = process.hrtime.bigint();
      reader.read(bytes, () => false);
      samples.push(Number(process.hrtime.bigint() - start) / 1000);
    }
    const steady = samples.slice(rounds / 2).sort((a, b) => a - b);
    const at = (share: number): string =>
      (steady[Math.floor(steady.length * share)] ?? 0).toFixed(0).padStart(5);
    console.log(`${name.padEnd(28)} median ${at(0.5)} us   p99 ${at(0.99)} us`);
  }
}
