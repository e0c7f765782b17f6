import { useState } from 'preact/hooks';
import type { Incident } from '../../../api/answers.ts';
import { useNames } from '../data/agents.ts';
import { post } from '../data/api.ts';
import { useAction } from '../data/resource.ts';
import { Dialog } from '../kit/dialog.tsx';
import { AgentOptions, Form } from '../kit/form.tsx';

/** Shows a button and a form that open an incident by hand. */
export function IncidentForm({ onOpened }: { onOpened: (incidentId: string) => void }) {
  const names = useNames();
  const [isOpen, setOpen] = useState(false);
  const open = useAction(async (form: HTMLFormElement) => {
    const fields = Object.fromEntries(new FormData(form));
    const { incident_id } = await post<Incident>('/v1/incidents', {
      ...fields,
      note: fields['note'] || null,
    });
    setOpen(false);
    onOpened(incident_id);
  });
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Open an incident
      </button>
      {isOpen && (
        <Dialog title="Open an incident" onClose={() => setOpen(false)}>
          <Form action={open}>
            <label>
              Agent
              <select name="agent_id" required>
                <AgentOptions names={names} />
              </select>
            </label>
            <label>
              Title
              <input name="title" required maxLength={128} />
            </label>
            <label>
              Severity
              <select name="severity">
                <option>LOW</option>
                <option selected>MEDIUM</option>
                <option>HIGH</option>
                <option>CRITICAL</option>
              </select>
            </label>
            <label>
              Note
              <textarea name="note" rows={3} maxLength={1024} />
            </label>
            <div>
              <button type="submit" disabled={open.isRunning}>
                Open it
              </button>
            </div>
          </Form>
        </Dialog>
      )}
    </>
  );
}
