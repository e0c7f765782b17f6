import { lazily } from '../../util/lazily.ts';

/*
 * Models how often a few bytes in a row occur in English prose and JSON, to tell rare parts of words from
 * common ones. Only the order of the figures matters. Bytes are folded as in the matcher (`| 0x20`).
 */

/** How much of a text each character is, in percent. A line feed becomes `*` when it is folded. */
const percentOf: Readonly<Record<string, number>> = JSON.parse(
  '{" ":16,"e":10,"t":7.5,"a":6.8,"o":6.2,"i":6,"n":5.8,"s":5.6,"r":5.2,"h":4,"l":3.6,"d":3.2,"c":2.8,"u":2.4,"m":2.1,' +
    '"p":2,"f":1.8,"g":1.6,"y":1.4,"w":1.3,"b":1.2,"v":0.9,"k":0.6,"x":0.3,"j":0.2,"q":0.2,"z":0.2,"\\"":2,":":1,",":1,' +
    '".":1,"/":0.5,"-":0.4,"\'":0.3,"(":0.2,")":0.2,"=":0.2,";":0.2,"*":0.4}',
);
const digitPercent = 0.5;
const otherPercent = 0.05;

/** The trigrams counted in English documentation and JSON, joined, the most frequent first. */
const commonTrigrams =
  ' ththehe ioninged  re to intiong to is  an coor  a es entandon er nd e t": fors a is fo wi ofs tre in ---of  no, "' +
  'verall",  betercon ststrons pr: "ectse estthiat e aan  -  ca paresle ersll  li deatets n tthaatitri expro mahate s' +
  'ithcomhise iyou ust t see cnt  ither fi yost th  whodeas en rea aruse alwitly tedsions pattesare ore oesss. notd t' +
  'sta on asints iile dirinptipreagee pit optame mobe tcheadists, e fn aortcal soctifilr te, t ich perf tite opou tor' +
  'parmplmenline. al chepletypif ntedisturevendersi. t if but aatcack, a haillypes oporte  tee rereot  doretbleme d a' +
  'de equ suindmattinine meut hanultve lesdefe d trs sder en un lovaltemcanwhe cho twilrecce sedcodinsname eirehenore' +
  'serg tmodreq veromablsinoveivet othoe md iendnsemetourencs wadd vajeclicexpactoutbutry asst. s form. idatnstn ince' +
  'e wr aomperrasen oensrs ne  adunde n byct ext neld uleref, tuesttenalchaontnod frt wodud. urnby quesett cet icarat' +
  'oneainetueraalissided --e licee bscrge redd b clom s c.jscen wadescrie: s piesefatatcespecy tem  pofro pedinss d o' +
  'ferauls":objvenbjenumbersteanyfauidehinritarglowdult smberipimp fauncomeathtraa sh tt, geteths: luerenlisach sispe' +
  'rt  "tspantsrroheaue ntrteno adirtrus n tyndi evnta naangiptaluararepeatitiumbalsail talearac nuay pac obommrorure' +
  'opeoth fuarsed.pene":attsesigntarmanexake tre, )whi===ata sprseappampcateciockn. e ug as mume, iustlatfunginribt f' +
  'd swor ))ernescrmalloxamakeh ad,  ruoolt: ny ildds d f ge daonar isups rd wnct, os bso s ln e. - apantmitlly sher.' +
  '. semer offey a() r erce =i=itposck ran wodler c bofinty s",))"ifis deteoululdisp. =ow upporytic he mibuiuilgentan' +
  'denhavmesiningeordshoartes.bacrighouplasonn s lepeslogibuime imn, stofixminrunon.igh ates"s en c baityt btimd cur ' +
  'ertt p, see claounn baveutiwrintirnseser, led wendlnedaceitswaradey olieerlstsosef alase vikeincnpmkeyollharclicto' +
  'likmakhttttpnin, w aceangitarrqui. aeam ".nnet mpont el aorit richctessehodl tans-- ckahica pancisellepporn n fsub' +
  'y. r. espkagtai sacurowsstir sghtsee kehestalreltrya cecol bhas wrtivspochiurltex, bd pcorrreno ner eronl). rout d' +
  't":litfienecmain w munlyn pelensiy,  otdepefirgeo snessom.coeacregnews ueasy s laialdexerir mo c "ny cngsad lobic ' +
  's (land rramrraputpin), ta crencoes,e hoteruesynullrtirovonfariseny iplietteptgs g fm tlemizea fges ou abr p uponn' +
  'pas holerglousi crrieienuntuffcifdice geta( -roplibmornfido ts.ts"g icasr wilion"ptsnatosted,kinuir tiketddef ycep' +
  'js"epeedisouclua nwinbasckey d syaryorkiedn mo bfigt lenedifpe urcmislartlyg sar pri fe=" mpon":le:folo ilocex.. c' +
  'ast. fgrataborsery: throsecmmaraysitvidficaut platujsoely eaxprpt rtsard br):  pi "diciutemayrtethrr dy wls drea t' +
  'socnt.lt o dpm t nu ccouoleludinag onorrl t he.jys buf=hejs . rful cu =h giync';
/** The share of the most frequent trigram. The formula below is fitted to the counts of the others. */
const firstShare = 0.0128;
const shareAt = (rank: number): number => firstShare / (1 + rank / 6) ** 0.8;
const trigramLength = 3;
const trigramCount = commonTrigrams.length / trigramLength;
/** Bound on the share of other trigrams, which are rarer than the last listed one. */
const otherShareMax = shareAt(trigramCount);
const trigramShares = new Map(
  Array.from({ length: trigramCount }, (_, rank) => {
    const [a, b, c] = Buffer.from(
      commonTrigrams.slice(rank * trigramLength, (rank + 1) * trigramLength),
    ) as unknown as Triple;
    return [packed(a, b, c), shareAt(rank)] as const;
  }),
);

const shares = Float64Array.from({ length: 256 }, (_, byte) => {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return (percentOf[String.fromCharCode(byte)] ?? (isDigit ? digitPercent : otherPercent)) / 100;
});

/** Returns the share of a text that is this byte, folded or not. */
export const shareOfByte = (byte: number): number =>
  (shares[byte | 0x20] ?? 0) * (isUpperByte(byte) ? capitalShare : 1);

const capitalShare = 0.1;
const isUpperByte = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;

export const anyByte = -1;

const shareOf = (byte: number): number => (byte === anyByte ? 1 : (shares[byte] ?? 0));

/** Packs three bytes into 24 bits, little-endian. With `anyByte` the result equals that of no other bytes. */
function packed(a: number, b: number, c: number): number {
  return a | (b << 8) | (c << 16);
}

type Triple = readonly [number, number, number];

export type Gram = readonly [...Triple, last?: number];

const shareOfTriple = (a: number, b: number, c: number): number =>
  trigramShares.get(packed(a, b, c)) ?? Math.min(otherShareMax, shareOf(a) * shareOf(b) * shareOf(c));

/** The share of positions at which two bytes begin, as the sum over all bytes that may follow them. */
const pairShares = new Float64Array(2 ** 16);
for (let first = 0; first < 256; first++)
  for (let second = 0; second < 256; second++)
    pairShares[first | (second << 8)] = shareOf(first) * shareOf(second);
for (const [triple, share] of trigramShares) {
  const pair = triple & 0xffff;
  pairShares[pair] = (pairShares[pair] as number) + share;
}

/** Returns the expected share of positions at which these two bytes begin. */
export const pairShare = (a: number, b: number): number => pairShares[a | (b << 8)] as number;

/** Returns the expected share of positions at which these folded bytes begin; `anyByte` may be any byte. */
export function gramShare([a, b, c, d = anyByte]: Gram): number {
  const triple = shareOfTriple(a, b, c);
  if (d === anyByte || b === anyByte || c === anyByte) return triple * shareOf(d);
  // The quotient is how often the last byte follows the two before it.
  return (triple * shareOfTriple(b, c, d)) / pairShare(b, c);
}

/** The triples that make up most of a text, packed little-endian into 24 bits, and their shares. */
export const ordinaryTriples = lazily((): { readonly packed: Int32Array; readonly share: Float64Array } => {
  const bytes = [...shares.keys()].filter((byte) => shareOf(byte) * 100 > digitPercent);
  const triples = bytes.flatMap((a) => bytes.flatMap((b) => bytes.map((c): Triple => [a, b, c])));
  return {
    packed: Int32Array.from(triples, ([a, b, c]) => packed(a, b, c)),
    share: Float64Array.from(triples, gramShare),
  };
});
