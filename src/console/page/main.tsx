import '@picocss/pico/css/pico.min.css';
import { render } from 'preact';

function Page() {
  return (
    <main class="container">
      <h1>Postern</h1>
    </main>
  );
}

const root = document.getElementById('page');
if (root) render(<Page />, root);
