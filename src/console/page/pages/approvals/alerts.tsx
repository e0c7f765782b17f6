import { useEffect, useRef, useState } from 'preact/hooks';

const name = 'postern-alerts';

/** Plays a short tone, which is made here, so that no file is loaded. */
function beep(): void {
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  volume.gain.value = 0.06;
  tone.frequency.value = 660;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.18);
  tone.onended = () => void audio.close();
}

/** Alerts by sound and by the browser's notification when a call comes to wait, if somebody asked for it. */
export function Alerts({ count }: { count: number }) {
  const [isOn, setOn] = useState(localStorage.getItem(name) === 'on');
  const before = useRef(count);
  useEffect(() => {
    const more = count - before.current;
    before.current = count;
    if (!isOn || more <= 0) return;
    beep();
    if (document.hidden && 'Notification' in window && Notification.permission === 'granted')
      new Notification('Postern', {
        body: more === 1 ? 'A call waits for you.' : `${more} calls wait for you.`,
      });
  }, [count, isOn]);
  const change = async (wanted: boolean) => {
    setOn(wanted);
    localStorage.setItem(name, wanted ? 'on' : 'off');
    if (wanted && 'Notification' in window && Notification.permission === 'default')
      await Notification.requestPermission();
  };
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={(event) => void change(event.currentTarget.checked)} />
      Sound and notification
    </label>
  );
}
