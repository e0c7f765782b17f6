import '@picocss/pico/css/pico.min.css';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/messages.css';
import './style/shell.css';
import './style/overview.css';
import './style/pages.css';
import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('app');
if (root) render(<App />, root);
