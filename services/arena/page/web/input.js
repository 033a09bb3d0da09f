// What hands do: keys, mouse, or two thumbs. A button that was down, however briefly, counts until the next command is made.
import { UP, DOWN, LEFT, RIGHT, FIRE, MOTION } from './sim.js';

const KEYS = { // by KeyboardEvent.code, or .key where there is no code
  arrowup: UP, keyw: UP, w: UP, arrowdown: DOWN, keys: DOWN, s: DOWN, arrowleft: LEFT, keya: LEFT, a: LEFT,
  arrowright: RIGHT, keyd: RIGHT, d: RIGHT, space: FIRE, ' ': FIRE,
};
const MOUSE_MS = 8000; // that a resting mouse still aims
const STICK = 52, SLACK = 14; // CSS pixels: how far a stick goes, and from where it counts
const EIGHTHS = [RIGHT, RIGHT | DOWN, DOWN, DOWN | LEFT, LEFT, LEFT | UP, UP, UP | RIGHT];
const keyOf = e => (e.code || e.key).toLowerCase();
const pushed = stick => stick && Math.hypot(stick.dx, stick.dy) > SLACK;
export class Input {
  sticks = { move: null, aim: null }; // where thumbs are: {id, x, y, dx, dy} in CSS pixels
  touched = matchMedia('(pointer: coarse)').matches; // the player uses thumbs
  onPress = () => {}; // the player moves another way; it is given the buttons of motion before
  #held = new Map(); // buttons by key
  #tapped = 0;
  #mouse = { x: 0, y: 0, at: -MOUSE_MS, down: false };
  #aim = 0; // 1/65536 of a turn

  constructor(canvas) {
    addEventListener('keydown', e => this.#key(e), true);
    addEventListener('keyup', e => {
      this.#tapped |= this.#held.get(keyOf(e)) ?? 0;
      this.#held.delete(keyOf(e));
    }, true);
    addEventListener('blur', () => this.release());
    canvas.oncontextmenu = e => e.preventDefault();
    canvas.onpointerdown = canvas.onpointermove = canvas.onpointerup = canvas.onpointercancel = e => e.pointerType === 'touch' ? this.#thumb(e) : this.#point(e);
  }

  release() { [this.#held, this.#tapped, this.#mouse.down, this.sticks] = [new Map(), 0, false, { move: null, aim: null }]; }

  // buttons are those that are down, or were since the last command.
  get buttons() {
    const { move, aim } = this.sticks;
    let b = this.#tapped | (this.#mouse.down || pushed(aim) ? FIRE : 0);
    for (const v of this.#held.values()) b |= v;
    return pushed(move) ? b | EIGHTHS[Math.round(Math.atan2(move.dy, move.dx) / Math.PI * 4) & 7] : b;
  }

  // take returns the buttons of a command and its aim, for a player at a place of the canvas.
  take(at) {
    const buttons = this.buttons, m = this.#mouse, { aim } = this.sticks;
    let dx = (buttons & RIGHT ? 1 : 0) - (buttons & LEFT ? 1 : 0), dy = (buttons & DOWN ? 1 : 0) - (buttons & UP ? 1 : 0);
    if (pushed(aim)) ({ dx, dy } = aim);
    else if (m.down || performance.now() - m.at < MOUSE_MS) [dx, dy] = [m.x - at.x, m.y - at.y];
    if (dx || dy) this.#aim = Math.round(Math.atan2(dy, dx) / (2 * Math.PI) * 65536) & 65535;
    this.#tapped = 0;
    return { buttons, aim: this.#aim };
  }

  #press(change) {
    const before = this.buttons & MOTION;
    change();
    if ((this.buttons & MOTION) !== before) this.onPress(before);
  }

  #key(e) {
    const button = KEYS[keyOf(e)], off = e.target.closest?.(button === FIRE ? 'input, select, button' : 'input, select');
    if (!button || e.ctrlKey || e.metaKey || e.altKey || off || document.body.dataset.view !== 'game') return;
    e.preventDefault();
    this.#press(() => this.#held.set(keyOf(e), button));
  }

  #point({ offsetX: x, offsetY: y, type, button }) {
    const was = this.#mouse.down, down = type === 'pointerdown' ? button === 0 : type === 'pointermove' && was;
    this.#mouse = { x, y, at: performance.now(), down };
    if (down && !was) this.#tapped |= FIRE;
  }

  #thumb(e) {
    const { offsetX: x, offsetY: y, type, pointerId: id, target } = e, side = x < target.clientWidth / 2 ? 'move' : 'aim';
    e.preventDefault();
    this.touched = true;
    if (type === 'pointerdown') this.sticks[side] ??= { id, x, y, dx: 0, dy: 0 }; // the browser captures a thumb on its own
    for (const [name, s] of Object.entries(this.sticks)) {
      if (s?.id !== id || type === 'pointerdown') continue;
      const part = Math.min(1, STICK / Math.hypot(x - s.x, y - s.y) || 0);
      if (type === 'pointermove') this.#press(() => { [s.dx, s.dy] = [(x - s.x) * part, (y - s.y) * part]; });
      else this.sticks[name] = null;
    }
  }
}
