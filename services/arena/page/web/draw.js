// The picture: the field around the own player, everything on it, and the small map. Colours come from style.css, so that they
// follow the scheme of the user's system.
import { SIZE, SCALE, RADIUS, FULL } from './sim.js';

const NAMES = ['ground', 'field', 'grid', 'rule', 'ink', 'dim', 'me', 'good', 'part', 'bad', 'pickup', 'lightness'];
const dark = matchMedia('(prefers-color-scheme: dark)');
const turn = 2 * Math.PI;

export class Field {
  width = 0; height = 0; // CSS pixels
  colours = {};
  #canvas; #to; #zoom = 1; #centre = { x: 0, y: 0 }; // units

  constructor(canvas) {
    this.#canvas = canvas;
    this.#to = canvas.getContext('2d', { alpha: false });
    const look = () => {
      const style = getComputedStyle(document.documentElement);
      for (const name of NAMES) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    };
    look();
    dark.addEventListener('change', look);
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#resize();
  }

  #resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    [this.width, this.height] = [this.#canvas.clientWidth, this.#canvas.clientHeight];
    [this.#canvas.width, this.#canvas.height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    this.#to.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // colour is that of another player: hues that are far from the own one.
  colour(id) { return `hsl(${(id * 0.618 % 1 * 270 + 250) % 360} 62% ${this.colours.lightness})`; }

  // at is where a point of the world is on the canvas.
  at({ x, y }) { return { x: this.width / 2 + (x - this.#centre.x) * this.#zoom, y: this.height / 2 + (y - this.#centre.y) * this.#zoom }; }

  // look turns the picture to the own player, or to the whole world.
  look(me) {
    const whole = SIZE * SCALE;
    this.#zoom = me ? Math.sqrt(this.width * this.height) / (700 * SCALE) : Math.min(this.width, this.height) / (1.05 * whole);
    this.#centre = me ? { x: me.x, y: me.y } : { x: whole / 2, y: whole / 2 };
  }

  // frame draws {me, others, pickups, effects, name(id), sticks, now}.
  frame(scene) {
    const c = this.#to;
    this.#ground(c);
    for (const p of scene.pickups.values()) this.#pickup(c, p, scene.now);
    for (const e of scene.effects) if (e.kind === 'line') this.#line(c, e);
    for (const e of scene.others.values()) this.#player(c, e, this.colour(e.id), scene.name(e.id), false);
    if (scene.me) this.#player(c, scene.me, this.colours.me, scene.name(scene.me.id), true);
    for (const e of scene.effects) if (e.kind !== 'line') this.#effect(c, e);
    c.globalAlpha = 1;
    this.#map(c, scene);
    for (const [name, s] of Object.entries(scene.sticks)) this.#stick(c, name, s);
  }

  #ground(c) {
    const { ground, field, grid, rule } = this.colours, a = this.at({ x: 0, y: 0 }), side = SIZE * SCALE * this.#zoom;
    c.fillStyle = ground;
    c.fillRect(0, 0, this.width, this.height);
    c.fillStyle = field;
    c.fillRect(a.x, a.y, side, side);
    c.strokeStyle = grid;
    c.lineWidth = 1;
    c.beginPath();
    for (let i = 50; i < SIZE; i += 50) {
      const at = Math.round(i * SCALE * this.#zoom) + 0.5;
      if (a.x + at > 0 && a.x + at < this.width) { c.moveTo(a.x + at, Math.max(a.y, 0)); c.lineTo(a.x + at, Math.min(a.y + side, this.height)); }
      if (a.y + at > 0 && a.y + at < this.height) { c.moveTo(Math.max(a.x, 0), a.y + at); c.lineTo(Math.min(a.x + side, this.width), a.y + at); }
    }
    c.stroke();
    c.strokeStyle = rule;
    c.lineWidth = 3;
    c.strokeRect(a.x, a.y, side, side);
  }

  #visible(p, slack) { return p.x > -slack && p.y > -slack && p.x < this.width + slack && p.y < this.height + slack; }

  #path(c, x, y, toX, toY) { c.beginPath(); c.moveTo(x, y); c.lineTo(toX, toY); c.stroke(); }

  #disc(c, x, y, r) { c.beginPath(); c.arc(x, y, Math.max(r, 0), 0, turn); }

  #pickup(c, at, now) {
    const p = this.at(at), r = 8 * SCALE * this.#zoom;
    if (!this.#visible(p, 2 * r)) return;
    c.fillStyle = this.colours.pickup;
    c.globalAlpha = 0.22;
    this.#disc(c, p.x, p.y, r * (1.6 + 0.2 * Math.sin(now / 300)));
    c.fill();
    c.globalAlpha = 1;
    this.#disc(c, p.x, p.y, r);
    c.fill();
    c.fillStyle = this.colours.field;
    c.fillRect(p.x - r * 0.55, p.y - r * 0.16, r * 1.1, r * 0.32);
    c.fillRect(p.x - r * 0.16, p.y - r * 0.55, r * 0.32, r * 1.1);
  }

  #player(c, e, colour, name, own) {
    const p = this.at(e), r = RADIUS * this.#zoom, { ink, dim, field, good, part, bad, grid } = this.colours;
    if (!this.#visible(p, 4 * r)) return;
    c.fillStyle = colour;
    if (e.hp === 0) {
      c.globalAlpha = 0.3;
      this.#disc(c, p.x, p.y, r * 0.8);
      c.fill();
      c.globalAlpha = 1;
      return;
    }
    const a = e.dir / 128 * Math.PI, cos = Math.cos(a), sin = Math.sin(a);
    if (own) {
      c.globalAlpha = 0.18;
      this.#disc(c, p.x, p.y, r * 1.75);
      c.fill();
      c.strokeStyle = colour; // where it aims
      c.lineWidth = 2;
      this.#path(c, p.x + cos * r * 1.9, p.y + sin * r * 1.9, p.x + cos * r * 9, p.y + sin * r * 9);
      c.globalAlpha = 1;
    }
    c.lineCap = 'round';
    for (const [width, style] of [[0.72, field], [0.46, ink]]) { // the barrel
      c.strokeStyle = style;
      c.lineWidth = r * width;
      this.#path(c, p.x, p.y, p.x + cos * r * 1.5, p.y + sin * r * 1.5);
    }
    this.#disc(c, p.x, p.y, r);
    c.fill();
    c.strokeStyle = own ? ink : field;
    c.lineWidth = own ? 2.5 : 2;
    c.stroke();
    c.fillStyle = field;
    this.#disc(c, p.x + cos * r * 0.36, p.y + sin * r * 0.36, r * 0.26);
    c.fill();
    const wide = r * 2.1, x = p.x - wide / 2, y = p.y - r * 1.9, left = e.hp / FULL;
    c.fillStyle = grid;
    c.fillRect(x, y, wide, 4);
    c.fillStyle = left > 0.5 ? good : left > 0.25 ? part : bad;
    c.fillRect(x, y, wide * left, 4);
    c.font = `${own ? 600 : 500} 12px system-ui, sans-serif`;
    c.textAlign = 'center';
    c.fillStyle = own ? ink : dim;
    c.fillText(name, p.x, y - 5);
  }

  #line(c, e) {
    const z = this.#zoom, p = this.at(e), end = e.to ? this.at(e.to) : { x: p.x + e.cos * e.far * z, y: p.y + e.sin * e.far * z };
    c.globalAlpha = 1 - e.age / e.life;
    c.strokeStyle = e.colour;
    c.lineWidth = 2.5;
    c.lineCap = 'round';
    this.#path(c, p.x + e.cos * e.from * z, p.y + e.sin * e.from * z, end.x, end.y);
    c.globalAlpha = 1;
  }

  #effect(c, e) {
    const p = this.at(e), part = e.age / e.life;
    if (!this.#visible(p, 60)) return;
    c.globalAlpha = 1 - part;
    c.fillStyle = c.strokeStyle = e.colour;
    if (e.kind === 'spark') c.fillRect(p.x - 1.5, p.y - 1.5, 3, 3);
    if (e.kind === 'ring') {
      c.lineWidth = 3;
      this.#disc(c, p.x, p.y, RADIUS * this.#zoom * (1 + 2 * part));
      c.stroke();
    }
    if (e.kind === 'words') {
      c.font = '700 15px system-ui, sans-serif';
      c.textAlign = 'center';
      c.fillText(e.text, p.x, p.y);
    }
  }

  #map(c, { me, others, pickups }) {
    if (!me) return;
    const side = Math.min(this.width, this.height) < 600 ? 84 : 130, left = this.width - side - 12, top = 60, k = side / (SIZE * SCALE);
    const dot = (e, size, style) => { c.fillStyle = style; c.fillRect(left + e.x * k - size / 2, top + e.y * k - size / 2, size, size); };
    c.globalAlpha = 0.85;
    c.fillStyle = this.colours.ground;
    c.fillRect(left, top, side, side);
    c.globalAlpha = 1;
    for (const p of pickups.values()) dot(p, 3, this.colours.pickup);
    for (const e of others.values()) if (e.hp > 0) dot(e, 4, this.colour(e.id));
    dot(me, 6, this.colours.me);
    c.strokeStyle = this.colours.rule;
    c.lineWidth = 1;
    c.strokeRect(left + 0.5, top + 0.5, side, side);
  }

  #stick(c, name, s) {
    const rest = { x: name === 'move' ? 84 : this.width - 84, y: this.height - 100, dx: 0, dy: 0 };
    const { x, y, dx, dy } = s ?? rest;
    c.globalAlpha = s ? 0.5 : 0.25;
    c.strokeStyle = c.fillStyle = name === 'move' ? this.colours.dim : this.colours.bad;
    c.lineWidth = 2;
    this.#disc(c, x, y, 52);
    c.stroke();
    this.#disc(c, x + dx, y + dy, 24);
    c.fill();
    c.globalAlpha = 1;
  }
}
