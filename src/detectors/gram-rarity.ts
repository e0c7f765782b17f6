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

/** Counted in English documentation and code, the most frequent first. */
const commonTrigrams = (
  'the con ing ons ion ent tio nst rea ead str ort por tri and rin all rom for ate sta ame ter tes age ode est ret fro nam com ' +
  'typ ype ten tur ine ver hat nde pro ect urn cti onl nly key etu ith res ext imp thi don und ers mpo val ind ado ile tha her ' +
  'htt ttp def nti cal ist ore par exp ant che ace mbe ber ati git fin fil end num int ena lic nte umb ess not lin tex his tor ' +
  'pat err yte den byt ere efi nod nan are its one tps out ord ned wit cod unc cha ath xpo pti ide ted rro eng fun eco act ror ' +
  'nct opt use art oun mat scr tch der eve equ len red gen men cri des tra nts sio own ite pre lue ack rac les ult cre tho rec ' +
  'alu ost son ngt gth ont ase pla tar new han als din tat per req dat ser mes rit tte now npm wor ces whe atc ste ule lea jec ' +
  'map lis esc ble cor ues add app set get tin nce ies era rip ool ass can tid ole enc ans our ipt min max low oli onf que ope ' +
  'eat ins ain ang jso pol eld arg igi ire rse ars dis nge rep nfi omm bod sec aul rat pac dex wha hin pen ded ody has ome sed ' +
  'mis gin ntr fer tre tru ive ach run fie ali hea syn tan nal lat abl bje iel fig thu efa nds fau sto hub obj orm ove hos met ' +
  'mpl oth dec pes unt inc mit ast ail ses las rsi wer ync ndi let ple rou ime gat cat url you ise ean ull ake hen ill tim eth ' +
  'hec eck ice man log ref ffe omp ern ade row wri sin kno rce ran dig har rul iti thr tap way ert rov lse ens ata hro ity nne ' +
  'hem lac pos lds ven ait wai ose sol icy too ete sag ign ial cka llo fac boo mod env arr uff rst eac dre kag eci nci ure rue ' +
  'old ren whi eme any irs ini nul led buf cou nse ica mon tem ust qui sou omi nes eam eso wil ute ows ock urc ngs try ori bas ' +
  'dge spe tal awa kin ild fir ara cto rge nta onn ddr nec rra cte atu swe dir iss ner oke ray pas put nin ssi rts sch cke att ' +
  'ery sti cid uir nsw ume ges reg fal unk sse erf sli ppr sho lid tak lob sig cli hou epo ett lle cla hod dit sma cas may cie ' +
  'eys rma efo ova sca igh ifi amp sts doc org nat ema ors pec'
).split(' ');
/** Rank 60 comes up half as often as the first, rank 120 a third as often. */
const trigramShares = new Map(
  commonTrigrams.map((trigram, rank) => [
    packed(trigram.charCodeAt(0), trigram.charCodeAt(1), trigram.charCodeAt(2)),
    0.006 / (1 + rank / 60),
  ]),
);

const shares = Float64Array.from({ length: 256 }, (_, byte) => {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return (percentOf[String.fromCharCode(byte)] ?? (isDigit ? digitPercent : otherPercent)) / 100;
});

export const anyByte = -1;

const shareOf = (byte: number): number => (byte === anyByte ? 1 : (shares[byte] ?? 0));

/** Little-endian in 24 bits; of `anyByte` it makes what no other bytes make. */
function packed(a: number, b: number, c: number): number {
  return a | (b << 8) | (c << 16);
}

export type Gram = readonly [number, number, number, last?: number];

/** The expected share of positions of a text at which these folded bytes begin; any of them may be `anyByte`. */
export function gramShare([a, b, c, d = anyByte]: Gram): number {
  const share = shareOf(a) * shareOf(b) * shareOf(c) * shareOf(d);
  const trigram = trigramShares.get(packed(a, b, c)) ?? 0;
  return share + trigram * shareOf(d);
}

/** The triples of which most of a text consists, packed little-endian into 24 bits, and their shares. */
export const ordinaryTriples = listOrdinaryTriples();

function listOrdinaryTriples(): { readonly packed: Int32Array; readonly share: Float64Array } {
  const bytes = [...shares.keys()].filter((byte) => shareOf(byte) * 100 > digitPercent);
  const triples = bytes.flatMap((a) => bytes.flatMap((b) => bytes.map((c): Gram => [a, b, c])));
  return {
    packed: Int32Array.from(triples, ([a, b, c]) => packed(a, b, c)),
    share: Float64Array.from(triples, gramShare),
  };
}
