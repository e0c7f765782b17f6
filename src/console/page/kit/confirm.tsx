import { useState } from 'preact/hooks';
import { useAction } from '../data/resource.ts';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

interface ConfirmOf {
  /** Word on the button and the dialog for what is done. */
  readonly word: string;
  /** A sentence on what that means. */
  readonly says: string;
  readonly run: (note: string) => Promise<unknown>;
  readonly isDanger?: boolean;
  /** Set to ask for a note that goes into the record. */
  readonly hasNote?: boolean;
  readonly isSmall?: boolean;
}

/** Shows a button that says what will happen before it does. */
export function Confirm({ word, says, run, isDanger = false, hasNote = false, isSmall = true }: ConfirmOf) {
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState('');
  const action = useAction(async () => {
    await run(note.trim());
    setOpen(false);
    setNote('');
  });
  return (
    <>
      <button type="button" class={isSmall ? 'small' : 'plain'} onClick={() => setOpen(true)}>
        {word}
      </button>
      {isOpen && (
        <Dialog title={word} onClose={() => setOpen(false)}>
          <Form action={action}>
            <p>{says}</p>
            {hasNote && (
              <label>
                Note for the record (may stay empty)
                <input
                  value={note}
                  maxLength={1024}
                  onInput={(event) => setNote(event.currentTarget.value)}
                />
              </label>
            )}
            <div class="row">
              <button type="submit" class={isDanger ? 'danger' : ''} disabled={action.isRunning}>
                {word}
              </button>
              <button type="button" class="plain" onClick={() => setOpen(false)}>
                Leave it
              </button>
            </div>
          </Form>
        </Dialog>
      )}
    </>
  );
}
