import { useState } from 'preact/hooks';
import { call } from '../data/api.ts';
import { useAction } from '../data/resource.ts';
import { Dialog } from '../kit/dialog.tsx';
import { Form } from '../kit/form.tsx';

interface Field {
  readonly name: string;
  readonly word: string;
  readonly isOpen?: boolean;
  readonly isOptional?: boolean;
}

const secret = (name: string, word: string): Field => ({ name, word });
const open = (name: string, word: string, isOptional = false): Field => ({
  name,
  word,
  isOpen: true,
  isOptional,
});

const fields: Readonly<Record<string, readonly Field[]>> = {
  bearer: [secret('value', 'Token')],
  basic: [open('username', 'User name'), secret('password', 'Password')],
  headers: [open('header', 'Name of the header'), secret('value', 'Its value')],
  query: [secret('value', 'Value')],
  oauth2_client_credentials: [
    open('token_url', 'Address of the token endpoint'),
    open('client_id', 'Client id'),
    secret('client_secret', 'Client secret'),
  ],
  aws_sigv4: [
    open('access_key_id', 'Access key id'),
    secret('secret_access_key', 'Secret access key'),
    open('region', 'Region (empty: read from the host)', true),
  ],
};

function secretOf(type: string, form: FormData): Record<string, unknown> {
  const given = Object.fromEntries(
    (fields[type] ?? [])
      .map(({ name }) => [name, String(form.get(name) ?? '')])
      .filter(([, value]) => value !== ''),
  );
  return type === 'headers' ? { values: { [String(given['header'])]: given['value'] } } : given;
}

interface FormOf {
  readonly name: string;
  readonly type: string;
  readonly onClose: () => void;
  readonly onSet: () => void;
}

/** Takes a secret for the vault. What was typed is not kept anywhere else. */
export function CredentialForm({ name, type: first, onClose, onSet }: FormOf) {
  const [type, setType] = useState(first);
  const set = useAction(async (form: HTMLFormElement) => {
    const given = new FormData(form);
    const path = `/v1/credentials/${encodeURIComponent(String(given.get('name') ?? name).trim())}`;
    await call('PUT', path, { body: { type, secret: secretOf(type, given) } });
    form.reset();
    onSet();
  });
  return (
    <Dialog title={name === '' ? 'Set a credential' : `Replace ${name}`} onClose={onClose}>
      <Form action={set} autocomplete="off">
        {name === '' && (
          <label>
            Name, as credentials[] or a route has it
            <input name="name" required maxLength={64} pattern="[A-Za-z0-9._\-]+" />
          </label>
        )}
        <label>
          How it is sent
          <select
            value={type}
            disabled={name !== ''}
            onChange={(event) => setType(event.currentTarget.value)}
          >
            {Object.keys(fields).map((it) => (
              <option key={it}>{it}</option>
            ))}
          </select>
        </label>
        {(fields[type] ?? []).map((it) =>
          it.isOpen ? (
            <label key={it.name}>
              {it.word}
              <input name={it.name} autoComplete="off" required={!it.isOptional} />
            </label>
          ) : (
            <label key={it.name}>
              {it.word}
              <input name={it.name} type="password" autoComplete="new-password" required />
            </label>
          ),
        )}
        <p class="hint">
          It is sealed with the key of the vault. Nobody can read it here afterwards, only replace it.
        </p>
        <div>
          <button type="submit" disabled={set.isRunning}>
            Seal it
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
