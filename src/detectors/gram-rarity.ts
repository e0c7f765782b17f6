/*
 * How often a few bytes in a row come up in English prose and JSON: enough of a model to tell a rare part of a word from a
 * common one. Only the order of the figures matters. Bytes are folded as in the matcher (`| 0x20`).
 */

/** Percent of a text; a line feed folds to `*`. */
const percentOf: Readonly<Record<string, number>> = JSON.parse(
  '{" ":16,"e":10,"t":7.5,"a":6.8,"o":6.2,"i":6,"n":5.8,"s":5.6,"r":5.2,"h":4,"l":3.6,"d":3.2,"c":2.8,"u":2.4,"m":2.1,' +
    '"p":2,"f":1.8,"g":1.6,"y":1.4,"w":1.3,"b":1.2,"v":0.9,"k":0.6,"x":0.3,"j":0.2,"q":0.2,"z":0.2,"\\"":2,":":1,",":1,' +
    '".":1,"/":0.5,"-":0.4,"\'":0.3,"(":0.2,")":0.2,"=":0.2,";":0.2,"*":0.4}',
);
const digitPercent = 0.5;
const otherPercent = 0.05;

const commonTrigrams = new Set(
  (
    'the and ing ion tio ent ati for her ter hat tha ere ate his con res ver all ons nce men ith ted ers pro thi wit are ess not ' +
    'ive was ect rea com eve per int est sta cti ica ist ear ain one our iti rat tin str ort ess tor ine ser use ode est ble ' +
    'ass age tex ext key oke ken val alu lue nam ame typ ype dat ata ont tem ite ren urn ret etu tur ode rol sag mes ssa'
  ).split(' '),
);
const commonTrigramShare = 0.005;

const shares = Float64Array.from({ length: 256 }, (_, byte) => {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return (percentOf[String.fromCharCode(byte)] ?? (isDigit ? digitPercent : otherPercent)) / 100;
});

export const anyByte = -1;

const shareOf = (byte: number): number => (byte === anyByte ? 1 : (shares[byte] ?? 0));

/** The expected share of positions of a text at which these folded bytes begin; any of them may be `anyByte`. */
export function gramShare(bytes: readonly number[]): number {
  const share = bytes.reduce((product, byte) => product * shareOf(byte), 1);
  return commonTrigrams.has(String.fromCharCode(...bytes.slice(0, 3)))
    ? share + commonTrigramShare * shareOf(bytes[3] ?? anyByte)
    : share;
}

/** The triples of which most of a text consists, packed little-endian into 24 bits, and their shares. */
export const ordinaryTriples = listOrdinaryTriples();

function listOrdinaryTriples(): { readonly packed: Int32Array; readonly share: Float64Array } {
  const bytes = [...shares.keys()].filter((byte) => shareOf(byte) * 100 > digitPercent);
  const triples = bytes.flatMap((a) =>
    bytes.flatMap((b) => bytes.map((c): [number, number, number] => [a, b, c])),
  );
  return {
    packed: Int32Array.from(triples, ([a, b, c]) => a | (b << 8) | (c << 16)),
    share: Float64Array.from(triples, gramShare),
  };
}
