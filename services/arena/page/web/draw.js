// The picture: the field around the own player, what is on it, and the small map. Colours are style.css's, of the user's scheme.
import { SIZE, SCALE, RADIUS, FULL } from './sim.js';

const NAMES = ['ground', 'field', 'grid', 'rule', 'ink', 'dim', 'me', 'good', 'part', 'bad', 'pickup', 'lightness'];
const WORLD = SIZE * SCALE, LINES = 50 * SCALE; // units: the world's side, from one line of the grid to the next
const STICK = 52; // CSS pixels
const beyond = (from, cos, sin, by) => [from.x + cos * by, from.y + sin * by];
export class Field {
  width = 0; height = 0; colours = {}; // CSS pixels
  #canvas; #to; #zoom = 1; #centre = { x: 0, y: 0 }; // pixels of a unit; units

  constructor(canvas) {
    this.#canvas = canvas;
    this.#to = canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement); // it is as of now, always
    const look = () => { this.colours = Object.fromEntries(NAMES.map(name => [name, style.getPropertyValue(`--${name}`).trim()])); };
    look();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', look);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  // resize fits the picture to its place, and empties it.
  resize() {
    const c = this.#canvas, ratio = Math.min(devicePixelRatio || 1, 2);
    [this.width, this.height] = [c.clientWidth, c.clientHeight];
    [c.width, c.height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    this.#to.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // colour is that of another player: hues that are far from the own one.
  colour(id) { return `hsl(${(id * 0.618 % 1 * 270 + 250) % 360} 62% ${this.colours.lightness})`; }
  // at is where a point of the world is on the canvas.
  at({ x, y }) { return { x: this.width / 2 + (x - this.#centre.x) * this.#zoom, y: this.height / 2 + (y - this.#centre.y) * this.#zoom }; }

  // look turns the picture to the own player, or to the whole world.
  look(me) {
    this.#zoom = me ? Math.sqrt(this.width * this.height) / (700 * SCALE) : Math.min(this.width, this.height) / (1.05 * WORLD);
    this.#centre = me ?? { x: WORLD / 2, y: WORLD / 2 };
  }

  frame({ me, others, pickups, effects, name, sticks, now }) {
    this.#ground();
    for (const p of pickups.values()) this.#pickup(p, now);
    for (const e of effects) this.#effect(e);
    for (const e of others.values()) this.#player(e, this.colour(e.id), name(e.id), false);
    if (me) this.#player(me, this.colours.me, name(me.id), true);
    if (me) this.#map(me, others, pickups);
    for (const [side, s] of Object.entries(sticks)) this.#stick(side, s);
  }

  #sees(p, slack) { return p.x > -slack && p.y > -slack && p.x < this.width + slack && p.y < this.height + slack; }
  #with(style) { return Object.assign(this.#to, style); }
  #rect(x, y, w, h, fillStyle) { this.#with({ fillStyle }).fillRect(x, y, w, h); }
  #text(p, text, font, fillStyle) { this.#with({ font: `${font} system-ui, sans-serif`, fillStyle, textAlign: 'center' }).fillText(text, p.x, p.y); }

  #disc(x, y, r, fillStyle, globalAlpha = 1) {
    const path = new Path2D();
    path.arc(x, y, r, 0, 2 * Math.PI);
    this.#with({ fillStyle, globalAlpha }).fill(path);
    this.#to.globalAlpha = 1;
  }

  // line is one from a distance of a point to another, in a direction.
  #line(p, cos, sin, from, to, lineWidth, strokeStyle) {
    const path = new Path2D();
    path.moveTo(...beyond(p, cos, sin, from));
    path.lineTo(...beyond(p, cos, sin, to));
    this.#with({ strokeStyle, lineWidth, lineCap: 'round' }).stroke(path);
  }

  #ground() {
    const { ground, field, grid, rule } = this.colours, a = this.at({ x: 0, y: 0 }), side = WORLD * this.#zoom;
    this.#rect(0, 0, this.width, this.height, ground);
    this.#rect(a.x - 3, a.y - 3, side + 6, side + 6, rule);
    this.#rect(a.x, a.y, side, side, field);
    for (let i = LINES; i < WORLD; i += LINES) {
      const at = Math.round(i * this.#zoom);
      this.#rect(Math.round(a.x) + at, a.y, 1, side, grid);
      this.#rect(a.x, Math.round(a.y) + at, side, 1, grid);
    }
  }

  #pickup(at, now) {
    const p = this.at(at), r = 8 * SCALE * this.#zoom, { pickup, field } = this.colours;
    if (!this.#sees(p, 2 * r)) return;
    this.#disc(p.x, p.y, r * (1.6 + 0.2 * Math.sin(now / 300)), pickup, 0.22);
    this.#disc(p.x, p.y, r, pickup);
    this.#rect(p.x - r * 0.55, p.y - r * 0.16, r * 1.1, r * 0.32, field);
    this.#rect(p.x - r * 0.16, p.y - r * 0.55, r * 0.32, r * 1.1, field);
  }

  #player(e, colour, name, own) {
    const p = this.at(e), r = RADIUS * this.#zoom, { ink, dim, field, good, part, bad, grid } = this.colours;
    const a = e.dir / 128 * Math.PI, cos = Math.cos(a), sin = Math.sin(a);
    if (!this.#sees(p, 4 * r)) return;
    if (e.hp === 0) return this.#disc(p.x, p.y, r * 0.8, colour, 0.3);
    if (own) {
      this.#disc(p.x, p.y, r * 1.75, colour, 0.18);
      this.#line(p, cos, sin, r * 1.9, r * 9, 1, colour); // where it aims
    }
    this.#line(p, cos, sin, 0, r * 1.5, r * 0.72, field); // the barrel
    this.#line(p, cos, sin, 0, r * 1.5, r * 0.46, ink);
    this.#disc(p.x, p.y, r + 2, own ? ink : field);
    this.#disc(p.x, p.y, r, colour);
    this.#disc(p.x + cos * r * 0.36, p.y + sin * r * 0.36, r * 0.26, field);
    const wide = r * 2.1, x = p.x - wide / 2, y = p.y - r * 1.9, left = e.hp / FULL;
    this.#rect(x, y, wide, 4, grid);
    this.#rect(x, y, wide * left, 4, left > 0.5 ? good : left > 0.25 ? part : bad);
    this.#text({ x: p.x, y: y - 5 }, name, own ? '600 12px' : '500 12px', own ? ink : dim);
  }

  #effect(e) {
    const c = this.#to, p = this.at(e), part = e.age / e.life, z = this.#zoom;
    c.globalAlpha = 1 - part;
    if (e.kind === 'line') this.#line(p, e.cos, e.sin, 24 * SCALE * z, Math.max(e.far, 24 * SCALE) * z, 2.5, e.colour);
    if (e.kind === 'spark') this.#rect(p.x - 1.5, p.y - 1.5, 3, 3, e.colour);
    if (e.kind === 'words') this.#text(p, e.text, '700 15px', e.colour);
    if (e.kind === 'ring') this.#disc(p.x, p.y, RADIUS * z * (1 + 2 * part), e.colour, 0.5 * (1 - part));
    c.globalAlpha = 1;
  }

  #map(me, others, pickups) {
    const side = Math.min(this.width, this.height) < 600 ? 84 : 130, left = this.width - side - 12, top = 60, k = side / WORLD;
    const dot = ({ x, y }, size, colour) => this.#rect(left + x * k - size / 2, top + y * k - size / 2, size, size, colour);
    this.#rect(left - 1, top - 1, side + 2, side + 2, this.colours.rule);
    this.#rect(left, top, side, side, this.colours.ground);
    for (const p of pickups.values()) dot(p, 3, this.colours.pickup);
    for (const e of others.values()) if (e.hp > 0) dot(e, 4, this.colour(e.id));
    dot(me, 6, this.colours.me);
  }

  #stick(side, s) {
    const colour = side === 'move' ? this.colours.dim : this.colours.bad;
    const { x, y, dx, dy } = s ?? { x: side === 'move' ? 84 : this.width - 84, y: this.height - 100, dx: 0, dy: 0 };
    this.#disc(x, y, STICK, colour, 0.16);
    this.#disc(x + dx, y + dy, 24, colour, s ? 0.55 : 0.3);
  }
}
