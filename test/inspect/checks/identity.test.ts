import t from 'tap';
import { identityChecks } from '../../../src/inspect/checks/identity.ts';

/*
 * Valid are numbers that documentation gives as examples. Where none was found, they are made by the formula itself and only guard it:
 * those of be-card, cns, date-first, eg-id, gt-cui, hu-personal, idnp, kw-civil, mu-id, nik, nss, pinfl, qid and rw-id. Of each, the last
 * character is then changed.
 */

interface Case {
  readonly yes: readonly string[];
  /** Besides those with another last character. */
  readonly no: readonly string[];
  /** Nothing is computed over all characters, so another last one is as good. */
  readonly isLoose?: true;
}

const documents = {
  // ICAO Doc 9303-4 and -5, appendices.
  mrz: {
    yes: ['L898902C36UTO7408122F1204159'],
    no: ['L898902C46UTO7408122F1204159', 'L898902C36UTO7408132F1204159'],
    isLoose: true,
  },
  'mrz-card': {
    yes: ['7408122F1204159UTO<<<<<<<<<<<6'],
    no: ['7408123F1204159UTO<<<<<<<<<<<6', '7408122F1204158UTO<<<<<<<<<<<6'],
    isLoose: true,
  },
  vin: { yes: ['1M8GDM9AXKP042788', '5GZCZ43D13S812715'], no: ['1M8GDM9A0KP042788', '1M8GDM9AXKP04278'] },
  'sure-by-form': {
    yes: [
      '390.533.447-05',
      '756.9217.0769.85',
      '85.07.30-033.28',
      '2 95 10 99 126 111 93',
      '360426199101010071',
    ],
    no: ['111.111.111-11', '757.9217.0769.85'],
  },
  imei: { yes: ['490154203237518'], no: ['49015420323751', '000000000000000'] },
} satisfies Record<string, Case>;

const americas = {
  ssn: {
    yes: ['536-22-8726', '536228726'],
    no: ['000-12-3456', '666-12-3456', '900-12-3456', '123-00-4567', '123-45-0000', '12-34-5678'],
    isLoose: true,
  },
  itin: {
    yes: ['912-90-3456', '900-70-0000'],
    no: ['812-90-3456', '912-49-3456', '912-69-3456', '912-89-3456'],
    isLoose: true,
  },
  ein: { yes: ['91-1144442', '12-3456789'], no: ['07-1144442', '89-1144442', '91-114444'], isLoose: true },
  sin: { yes: ['123-456-782', '046 454 286'], no: ['12345678', '000000000'] },
  curp: { yes: ['BOXW310820HNERXN09', 'HEGG560427MVZRRL04'], no: ['BOXW311320HNERXN09'] },
  rfc: { yes: ['GODE561231GR8', 'CAMR9607154J4'], no: ['GODE561331GR8', 'GODE560031GR8'], isLoose: true },
  nss: { yes: ['23151398841', '32-29-19-1448-2'], no: ['6294701234'] },
  cpf: { yes: ['390.533.447-05', '11144477735'], no: ['111.111.111-11', '390.533.447-15'] },
  // The second has letters, as numbers given since 2026 may.
  cnpj: {
    yes: ['16.727.230/0001-97', '12.ABC.345/01DE-35'],
    no: ['00.000.000/0000-00', '16.727.230/0001-87'],
  },
  pis: { yes: ['123.45678.90-0'], no: ['123.45678.9-0'] },
  cnh: { yes: ['62472927637', '69044271146'], no: ['62472927627'] },
  'titulo-eleitor': { yes: ['106644440302'], no: ['106644442902', '106644440002'] },
  cuit: { yes: ['20-26756539-3', '20-12345678-6'], no: ['50-26756539-3'] },
  'pe-ruc': { yes: ['20512333797', '20100070970'], no: ['30512333797'] },
  rut: { yes: ['76086428-5', '12.531.909-2', '12.667.869-K'], no: ['1-9', '11.111.111-2'] },
  nit: { yes: ['213123432-1', '2131234321'], no: ['21312343'] },
  'ec-cedula': { yes: ['1714307103', '171430710-3'], no: ['2514307103', '1774307103'] },
  rif: { yes: ['V-11470283-4'], no: ['X-11470283-4', 'J-11470283-4'] },
  'uy-ci': { yes: ['1.234.567-2'], no: ['1.234.56-7'] },
  'do-cedula': { yes: ['00113918205', '224-0002211-1'], no: ['0011391820'] },
  'sv-dui': { yes: ['00016297-5'], no: ['0001629-7'] },
  'gt-cui': {
    yes: ['1938 25104 0102', '1075176980302'],
    no: ['1234 56789 2301', '1938 25114 0102'],
    isLoose: true,
  },
  'py-ruc': { yes: ['80028061-0'], no: ['00000000-0'] },
  'cu-ni': { yes: ['91021027775', '72062506561'], no: ['91023027775'], isLoose: true },
  cns: { yes: ['700501994398655', '898050091000019'], no: ['300501994398655'] },
} satisfies Record<string, Case>;

const westernEurope = {
  nino: {
    yes: ['AB123456C', 'ab 12 34 56 c'],
    no: ['BG123456C', 'QQ123456C', 'AO123456C', 'AB12345C', 'AB123456E'],
    isLoose: true,
  },
  'nhs-number': { yes: ['943 476 5919', '4505577104'], no: ['943476591'] },
  chi: { yes: ['0101011237'], no: ['3201011237'] },
  utr: { yes: ['1955839661'], no: ['2955839661', '1955839652'], isLoose: true },
  'uk-upn': { yes: ['A860375141269', 'D800718460839'], no: ['B860375141269', 'A86037514126'] },
  'uk-driving-licence': {
    yes: ['MORGA657054SM9IJ', 'MORGA657054SM9IJ 35'],
    no: ['MORGA663054SM9IJ', 'MORGA657324SM9IJ'],
    isLoose: true,
  },
  pps: { yes: ['6433435F', '1234567T', '1234567FA'], no: ['6433435E'] },
  nir: {
    yes: ['2 95 10 99 126 111 93', '255081416802538'],
    no: ['3 95 10 99 126 111 93', '2 95 13 99 126 111 93'],
  },
  spi: { yes: ['30 23 217 600 053', '3023217600053'], no: ['40 23 217 600 053'] },
  'be-nrn': {
    yes: ['85.07.30-033.28', '17 07 30 033 84', '00012511119'],
    no: ['85.19.30-033.28', '85.07.32-033.28'],
  },
  'be-card': { yes: ['591-0123456-77'], no: ['591-0123456-00'] },
  bsn: { yes: ['111222333', '1112.22.333'], no: ['111111111', '11122233'] },
  'lu-matricule': { yes: ['1893120105732'], no: ['1893130105732', '1893120105722'] },
  // One digit alone is repeated.
  'steuer-id': {
    yes: ['86095742719', '36 574 261 809', '65929970489'],
    no: ['06095742719', '11111111111', '12345678903'],
  },
  'de-document': {
    yes: ['T220001293', 'L01X00T471', 'T22000129'],
    no: ['L01X00T472', 'LXXXXXTXX'],
    isLoose: true,
  },
  rvnr: { yes: ['15070649C103', '65 170839 J 003'], no: ['15070649D103'] },
  kvnr: { yes: ['A123456780', 'A000500015'], no: ['B123456780'] },
  svnr: { yes: ['1237 010180'], no: ['0237 010180', '1237 320180', '1237 011680'] },
  ahv: { yes: ['756.9217.0769.85', '7569217076985'], no: ['757.9217.0769.85'] },
  dni: { yes: ['12345678Z', 'X-1234567-L', '54362315-K', 'Y1234567X'], no: ['12345678A', '00000000T'] },
  'es-nss': { yes: ['28 12345678 40', '281234567840'], no: ['29 12345678 40'] },
  'pt-nif': { yes: ['501442600', '123456789'], no: ['723456789'] },
  'pt-cc': { yes: ['00000000 0 ZZ4'], no: ['00000000 1 ZZ4'] },
  niss: { yes: ['11234567892'], no: ['31234567892'] },
  // The second has letters for digits, as where two persons would have the same code.
  'codice-fiscale': { yes: ['RSSMRA85T10A562S', 'RSSMRA85T10A5SNT'], no: ['RSSMRA85T10A562T'] },
  'partita-iva': { yes: ['00743110157', '12345670017'], no: ['0074311015'] },
  afm: { yes: ['094259216', '023456780'], no: ['000000000'] },
  amka: { yes: ['01013099997'], no: ['32013099997'] },
  'cy-tic': { yes: ['10259033P'], no: ['10259033Z'] },
} satisfies Record<string, Case>;

const northernEurope = {
  personnummer: { yes: ['811218-9876', '19811218-9876', '811278-9873'], no: ['811318-9876', '811232-9876'] },
  // The second has a D-number's day.
  fodselsnummer: { yes: ['15108695088', '11077941012'], no: ['15108695098', '32108695088'] },
  cpr: { yes: ['211062-5629', '2110625629'], no: ['321062-5629', '211362-5629'], isLoose: true },
  hetu: { yes: ['131052-308T', '131052A308T'], no: ['311352-308T', '131052-308U'] },
  kennitala: { yes: ['120174-3399'], no: ['321274-3399', '120174-3389'], isLoose: true },
  baltic: { yes: ['36805280109', '33309240064'], no: ['36813280109'] },
  'lv-code': { yes: ['161175-19997', '32345678901'], no: ['311375-19997', '161175-19996'], isLoose: true },
} satisfies Record<string, Case>;

const easternEurope = {
  pesel: { yes: ['44051401359', '02070803628'], no: ['44131401359'] },
  nip: { yes: ['8567346215', '856-734-62-15'], no: ['85673462150'] },
  dowod: { yes: ['AYW036733', 'ABA300000', 'ABS123456'], no: ['ABS133456'] },
  'rodne-cislo': { yes: ['710319/2745', '991231123'], no: ['711319/2745', '710319/2746'], isLoose: true },
  'hu-personal': { yes: ['2-920128-7688', '2-850128-8968'], no: ['18513011234'] },
  'hu-tax': { yes: ['8071592153'], no: ['7071592153'] },
  taj: { yes: ['111111110', '123 456 788'], no: ['12345678'] },
  cnp: { yes: ['1630615123457', '1800101221144'], no: ['1631315123457', '0630615123457'] },
  egn: { yes: ['752316 926 3', '7542011030', '6101057509'], no: ['7552316263'] },
  lnch: { yes: ['7111042925'], no: ['711104292'] },
  oib: { yes: ['33392005961', '94577403194'], no: ['33392005951'] },
  jmbg: { yes: ['0101006500006', '2109961716666'], no: ['3201006500006'] },
  'si-tax': { yes: ['15012557'], no: ['1501255'] },
  'al-nid': { yes: ['J91230153U'], no: ['J91330153U', 'J91200153U'], isLoose: true },
  idnp: { yes: ['2025363691089', '2038192686502'], no: ['5025363691089'] },
  rnokpp: { yes: ['1759013776'], no: ['175901377'] },
  unzr: { yes: ['19800101-12345'], no: ['19801301-12345'], isLoose: true },
  inn: { yes: ['500100732259', '123456789047'], no: ['7707083893'] },
  snils: { yes: ['112-233-445 95', '11223344595'], no: ['112-233-445 94'] },
  'by-number': { yes: ['3140661A001PB1', '4070484K036PB8'], no: ['3320661A001PB1'], isLoose: true },
  iin: { yes: ['880111300392'], no: ['881311300392'] },
} satisfies Record<string, Case>;

const asia = {
  tckn: { yes: ['10000000146', '17291716060'], no: ['01000000146', '10000000156'] },
  vkn: { yes: ['4540536920'], no: ['454053692'] },
  'il-id': { yes: ['039337423', '123456782'], no: ['03933742'] },
  // A palindrome is none.
  aadhaar: { yes: ['2341 2341 2346', '234123412346'], no: ['1341 2341 2346', '222222222222'] },
  gstin: { yes: ['27AAPFU0939F1ZV'], no: ['28AAPFU0939F1ZV'] },
  ric: {
    yes: ['360426199101010071', '11010519491231002X'],
    no: ['360426199113010071', '960426199101010071'],
  },
  hkid: { yes: ['A123456(3)', 'G123456(A)', 'AB987654(3)'], no: ['A123456(4)'], isLoose: true },
  'tw-id': { yes: ['A123456789', 'A800000014'], no: ['1123456789'] },
  'my-number': { yes: ['123456789018', '1234 5678 9018'], no: ['12345678901'] },
  rrn: { yes: ['971013-1019902', '900101-1234567'], no: ['971313-1019902', '971013-0019902'], isLoose: true },
  nric: { yes: ['S1234567D', 'T1234567J', 'F1234567N', 'G1234567X', 'M1234567K'], no: ['S1234567J'] },
  mykad: {
    yes: ['770305-02-1234', '890131-06-0200'],
    no: ['771305-02-1234', '770305-17-1234'],
    isLoose: true,
  },
  'th-id': { yes: ['1-8622-40040-09-3', '3873938375334'], no: ['0-1018-00000-02-3'] },
  nik: {
    yes: ['3171011708450001', '3171015708450001'],
    no: ['0171011708450001', '3171013213450001'],
    isLoose: true,
  },
  npwp: { yes: ['01.312.166.0-091.000', '013000666091000'], no: ['01.312.166.1-091.000'], isLoose: true },
  cccd: { yes: ['001090123456', '079090123456'], no: ['000090123456', '097090123456'], isLoose: true },
  'lk-nic': { yes: ['856260024V', '198562600245'], no: ['858670024V', '850000024V'], isLoose: true },
  'emirates-id': { yes: ['784-1980-1234567-8'], no: ['785-1980-1234567-8', '784-1780-1234567-8'] },
  'sa-id': { yes: ['1058529940', '1181180603'], no: ['3058529940'] },
  'kw-civil': { yes: ['292110334033', '285092843452'], no: ['292130334033'] },
  qid: { yes: ['28463401234'], no: ['18463401234'], isLoose: true },
  'ir-code': { yes: ['0013542419', '0499370899'], no: ['049937089'] },
  pinfl: { yes: ['30311619993500', '31209747404904'], no: ['70311619993500', '33211619993500'] },
} satisfies Record<string, Case>;

const africaAndOceania = {
  'za-tax': { yes: ['1723489728', '0855876041'], no: ['1723489729', '0000000000'] },
  'za-id': { yes: ['7503305044089', '8001015009087'], no: ['7513305044089', '7503305044389'] },
  'eg-id': {
    yes: ['29001011234567'],
    no: ['19001011234567', '29013011234567', '29001015034567'],
    isLoose: true,
  },
  'date-first': {
    yes: ['19850228-12345-00001-23'],
    no: ['19851328-12345-00001-23', '18850228-12345-00001-23'],
    isLoose: true,
  },
  'rw-id': { yes: ['1198780001234567'], no: ['4198780001234567', '1198760001234567'], isLoose: true },
  tfn: { yes: ['123 456 782', '876 543 210'], no: ['12345678'] },
  abn: { yes: ['51 824 753 556', '83914571673'], no: ['99999999999'] },
  'au-medicare': {
    yes: ['2123 45670 1', '24287781321'],
    no: ['1123 45670 1', '2123 45671 1'],
    isLoose: true,
  },
  ird: { yes: ['49-091-850', '49098576', '136410132'], no: ['9125568', '350909185'] },
  // HISO 10046: the old form, and the new.
  nhi: { yes: ['ZAC5361', 'CGC2720', 'ZBN77VL', 'ALU18KZ'], no: ['ZIC5361'] },
  'mu-id': { yes: ['B010180123456A'], no: ['B320180123456A'], isLoose: true },
} satisfies Record<string, Case>;

const table: Record<keyof typeof identityChecks, Case> = {
  ...documents,
  ...americas,
  ...westernEurope,
  ...northernEurope,
  ...easternEurope,
  ...asia,
  ...africaAndOceania,
};

/** The same with another last character of its kind. */
const withOtherEnd = (text: string): string =>
  text.replace(/[0-9A-Z](?=\)?$)/i, (last) =>
    /\d/.test(last) ? String((Number(last) + 1) % 10) : last === 'A' ? 'B' : 'A',
  );

for (const [name, { yes, no, isLoose }] of Object.entries(table)) {
  t.test(`${name} tells numbers that are issued from others`, (t) => {
    const check = identityChecks[name as keyof typeof identityChecks];
    for (const text of yes) t.ok(check(text), text);
    for (const text of isLoose ? no : [...no, ...yes.map(withOtherEnd)]) t.notOk(check(text), text);
    t.notOk(check(''), 'nothing');
    t.end();
  });
}
