/** A text with what the gateway took out of it set off, where it was. */
export function Marked({ text }: { text: string }) {
  const parts = text.split(/(\[REDACTED[^\]]{0,80}\])/);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 1 ? (
          <mark key={index} class="finding">
            {part}
          </mark>
        ) : (
          part
        ),
      )}
    </>
  );
}
