// What the player's hands do: keys, mouse, or two thumbs. A tap that is shorter than a frame counts as one command.
import { UP, DOWN, LEFT, RIGHT, FIRE, MOTION } from './sim.js';

const KEYS = {
  arrowup: UP, keyw: UP, w: UP, arrowdown: DOWN, keys: DOWN, s: DOWN, arrowleft: LEFT, keya: LEFT, a: LEFT,
  arrowright: RIGHT, keyd: RIGHT, d: RIGHT, space: FIRE, ' ': FIRE,
};
const MOUSE_MS = 8000; // that a resting mouse still aims
const STICK = 52, SLACK = 14; // CSS pixels: how far a stick goes, and from where it counts
const EIGHTHS = [RIGHT, RIGHT | DOWN, DOWN, DOWN | LEFT, LEFT, LEFT | UP, UP, UP | RIGHT];

export class Input {
  sticks = { move: null, aim: null }; // where thumbs are: {id, x, y, dx, dy} in CSS pixels
  touched = false; // the player has used thumbs
  onPress = () => {}; // the player moves another way; it is given the buttons of motion before
  #held = new Map(); // buttons by key
  #tapped = 0;
  #mouse = null; // {x, y, at, down}
  #aim = 0; // 1/65536 of a turn

  constructor(canvas) {
    addEventListener('keydown', e => this.#key(e, true), true);
    addEventListener('keyup', e => this.#key(e, false), true);
    addEventListener('blur', () => this.release());
    canvas.addEventListener('contextmenu', e => e.preventDefault());
    for (const name of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) canvas.addEventListener(name, e => this.#pointer(e));
  }

  release() {
    this.#held.clear();
    this.#tapped = 0;
    this.sticks = { move: null, aim: null };
    if (this.#mouse) this.#mouse.down = false;
  }

  // buttons are those that are down, or were since the last command.
  get buttons() {
    let b = this.#tapped;
    for (const v of this.#held.values()) b |= v;
    const { move, aim } = this.sticks;
    if (move && Math.hypot(move.dx, move.dy) > SLACK) b |= EIGHTHS[Math.round(Math.atan2(move.dy, move.dx) / Math.PI * 4) & 7];
    if (this.#mouse?.down || aim && Math.hypot(aim.dx, aim.dy) > SLACK) b |= FIRE;
    return b;
  }

  // take returns the buttons of a command and its aim, for a player at a place of the canvas.
  take(at) {
    const buttons = this.buttons, { aim } = this.sticks, m = this.#mouse;
    this.#tapped = 0;
    const dx = (buttons & RIGHT ? 1 : 0) - (buttons & LEFT ? 1 : 0), dy = (buttons & DOWN ? 1 : 0) - (buttons & UP ? 1 : 0);
    if (aim) { if (Math.hypot(aim.dx, aim.dy) > SLACK) this.#point(aim.dx, aim.dy); }
    else if (m && (m.down || performance.now() - m.at < MOUSE_MS)) this.#point(m.x - at.x, m.y - at.y);
    else if (dx || dy) this.#point(dx, dy);
    return { buttons, aim: this.#aim };
  }

  #point(dx, dy) { this.#aim = Math.round(Math.atan2(dy, dx) / (2 * Math.PI) * 65536) & 65535; }

  #key(e, down) {
    const id = (e.code || e.key).toLowerCase(), button = KEYS[id] ?? KEYS[e.key?.toLowerCase()];
    if (!down) { this.#held.delete(id); return; }
    if (!button || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, button, a') || document.body.dataset.view !== 'game') return;
    e.preventDefault();
    if (this.#held.has(id)) return; // the key repeats itself
    this.#press(() => this.#held.set(id, button));
    this.#tapped |= button;
  }

  #press(change) {
    const before = this.buttons & MOTION;
    change();
    if ((this.buttons & MOTION) !== before) this.onPress(before);
  }

  #pointer(e) {
    const { offsetX: x, offsetY: y, type } = e, down = type === 'pointerdown', up = type === 'pointerup' || type === 'pointercancel';
    if (down) e.target.setPointerCapture(e.pointerId);
    if (e.pointerType !== 'touch') {
      this.#mouse = { x, y, at: performance.now(), down: up ? false : down ? e.button === 0 : this.#mouse?.down ?? false };
      if (this.#mouse.down && down) this.#tapped |= FIRE;
      return;
    }
    e.preventDefault();
    this.touched = true;
    const name = down ? x < e.target.clientWidth / 2 ? 'move' : 'aim' : Object.keys(this.sticks).find(k => this.sticks[k]?.id === e.pointerId);
    if (!name) return;
    const s = this.sticks[name];
    if (down) { if (!s) this.sticks[name] = { id: e.pointerId, x, y, dx: 0, dy: 0 }; return; }
    if (up) { this.sticks[name] = null; return; }
    const away = Math.hypot(x - s.x, y - s.y), part = Math.min(1, STICK / away || 0);
    this.#press(() => { s.dx = (x - s.x) * part; s.dy = (y - s.y) * part; });
  }
}
