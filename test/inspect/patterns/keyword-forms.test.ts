import t from 'tap';
import { formsOf } from '../../../src/inspect/patterns/keyword-forms.ts';

t.test('a keyword of several words is also written as the names of fields are', async (t) => {
  t.same(formsOf('tax id'), ['tax id', 'tax_id']);
  t.same(formsOf('national id'), ['national id', 'national_id', 'nationalid']);
  t.same(formsOf('id_number'), ['id_number', 'idnumber']);
  t.same(formsOf('sv-nummer'), ['sv-nummer', 'sv_nummer', 'svnummer']);
});

t.test('short words that are joined keep their separator', async (t) => {
  t.same(formsOf('sa id'), ['sa id', 'sa_id'], 'said is a word');
});

t.test('small words between two others are left out in the names of fields', async (t) => {
  t.ok(formsOf('clave de elector').includes('clave_elector'));
  t.ok(formsOf("carta d'identità").includes('carta_identita'));
  t.notOk(formsOf('nato a').includes('nato'), 'the last word stays');
});

t.test('accents are left out, in each way that a language has', async (t) => {
  t.same(formsOf('numéro fiscal'), ['numéro fiscal', 'numero fiscal', 'numero_fiscal', 'numerofiscal']);
  t.same(formsOf('fødselsnummer'), ['fødselsnummer', 'fodselsnummer', 'foedselsnummer']);
  t.same(formsOf('ταυτότητα'), ['ταυτότητα', 'ταυτοτητα']);
  t.same(formsOf('né le'), ['né le'], 'ne le are other words');
});

t.test('words of other scripts stay as they are', async (t) => {
  for (const word of ['паспорт', '生年月日', 'رقم الهوية', 'личный номер']) t.same(formsOf(word), [word]);
});
