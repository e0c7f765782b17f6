import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ShownSession } from '../../../api/answers.ts';
import { ApiProblem, hasEnded, post, session } from '../data/api.ts';
import { useAction } from '../data/resource.ts';
import { Command } from '../kit/bits.tsx';
import { Form } from '../kit/form.tsx';

/** Takes the admin secret or a key once. After that, a cookie that scripts cannot read stands for it. */
export function SignIn() {
  const [secret, setSecret] = useState('');
  const [tenantId, setTenantId] = useState('');
  const signIn = useAction(async () => {
    session.value = await post<ShownSession>('/v1/console/sessions', {
      secret: secret.trim(),
      ...(tenantId.trim() === '' ? {} : { tenant_id: tenantId.trim() }),
    });
    hasEnded.value = false;
    setSecret('');
  });
  const input = useRef<HTMLInputElement>(null);
  const tenant = useRef<HTMLInputElement>(null);
  const { problem } = signIn;
  const lacksTenant = problem instanceof ApiProblem && problem.errors.some((it) => it.path === 'tenant_id');
  useLayoutEffect(() => (lacksTenant ? tenant : input).current?.focus(), [lacksTenant]);
  return (
    <div class="sign-in">
      <main>
        <div class="brand">
          <img src="./favicon.svg" alt="" />
          Postern
        </div>
        <div class="card">
          <h1 tabIndex={-1}>Sign in</h1>
          <p class="hint">With the admin secret, or with a key that has the permissions you need.</p>
          {hasEnded.value && (
            <p class="note" role="status">
              Your session has ended. Sign in to go on where you were.
            </p>
          )}
          <Form action={lacksTenant ? { ...signIn, problem: undefined } : signIn}>
            <input
              class="hidden"
              name="username"
              autoComplete="username"
              value="postern"
              tabIndex={-1}
              aria-hidden="true"
              readOnly
            />
            <label>
              Secret or key
              <input
                ref={input}
                type="password"
                name="secret"
                required
                autoComplete="current-password"
                value={secret}
                onInput={(event) => setSecret(event.currentTarget.value)}
              />
            </label>
            <details open={lacksTenant}>
              <summary>Several tenants?</summary>
              <label>
                {lacksTenant
                  ? 'There are several tenants. Id of the one to act for'
                  : 'Id of the tenant to act for, with the admin secret'}
                <input
                  ref={tenant}
                  name="tenant"
                  value={tenantId}
                  onInput={(event) => setTenantId(event.currentTarget.value)}
                />
              </label>
            </details>
            <button type="submit" disabled={signIn.isRunning}>
              {signIn.isRunning ? 'Signing in…' : 'Sign in'}
            </button>
          </Form>
        </div>
        <div class="card quiet-top">
          <p class="hint">After npm start, the admin secret stands in the folder of the state:</p>
          <Command text="grep ADMIN_SECRET data/first-start.env" />
          <p class="hint">
            After postern init, it stands in the file <code>admin-secret</code> beside the configuration.
          </p>
        </div>
      </main>
    </div>
  );
}
