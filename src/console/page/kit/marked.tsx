/** Shows a text in which the places are set off where the gateway took something out. */
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
