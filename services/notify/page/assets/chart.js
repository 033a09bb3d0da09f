// A small chart of the last five minutes. Charts share one cursor: pointing at one, or moving the arrows
// in it, shows what all of them said then.
const span = 300; // seconds that a chart shows
const charts = [];

const svg = (name, properties) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(properties)) e.setAttribute(k, v);
  return e;
};

// ceiling is the least of 1, 2 and 5 times a power of ten that is not below v.
const ceiling = v => {
  if (!(v > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map(m => m * power).find(c => c >= v * (1 - 1e-9));
};

let cursor = null; // seconds before now; null: none
const point = seconds => {
  cursor = seconds === null ? null : Math.min(Math.max(seconds, 0), span);
  charts.forEach(c => c.draw());
};

class Chart {
  constructor(name, title, words) {
    this.words = words;
    this.points = []; // {t: seconds, v: value or null for a gap}
    this.value = el('strong', {class: 'value'}, '–');
    this.note = el('span', {class: 'dim'});
    this.top = el('span', {class: 'top-mark dim', 'aria-hidden': 'true'});
    this.line = svg('path', {class: 'line'});
    this.area = svg('path', {class: 'area'});
    this.rod = svg('line', {class: 'rod', y1: 0, y2: 100});
    this.plot = svg('svg', {viewBox: `0 0 ${span} 100`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    this.plot.append(this.area, this.line, this.rod);
    const field = el('div', {class: 'plot', tabindex: 0, role: 'img', 'aria-label': title + ' over the last five minutes; arrow keys read it',
      onpointermove: e => { const r = field.getBoundingClientRect(); point((1 - (e.clientX - r.left) / r.width) * span); },
      onpointerleave: () => point(null),
      onblur: () => point(null),
      onkeydown: e => {
        const step = {ArrowLeft: 1, ArrowRight: -1, PageUp: 30, PageDown: -30}[e.key];
        if (e.key === 'Escape') point(null);
        else if (step) point((cursor ?? 0) + step);
        else return;
        e.preventDefault();
      }}, this.plot, this.top);
    this.card = el('figure', {class: 'card figure ' + name},
      el('figcaption', {}, el('span', {class: 'title'}, title), this.value, this.note), field);
    charts.push(this);
  }

  add(t, v) {
    this.points.push({t, v});
    while (this.points.length && this.points[0].t < t - span - 2) this.points.shift();
    this.draw();
  }

  draw() {
    const last = this.points.at(-1);
    if (!last) return;
    const then = cursor === null ? last : this.nearest(last.t - cursor);
    this.top.dataset.at = cursor === null ? '' : age(last.t - then.t) + ' ago';
    say(this.value, then.v === null ? '–' : this.words(then.v));
    const top = ceiling(Math.max(...this.points.map(p => p.v ?? 0)));
    say(this.top, cursor === null ? this.words(top) : this.top.dataset.at);
    let line = '', area = '', begin = null, x = 0;
    const close = () => { if (begin !== null) area += `L${x} 100L${begin} 100Z`; begin = null; };
    for (const p of this.points) {
      if (p.v === null) { close(); continue; }
      x = (span - (last.t - p.t)).toFixed(1);
      const y = (98 - 94 * p.v / top).toFixed(1), to = (begin === null ? 'M' : 'L') + x + ' ' + y;
      if (begin === null) begin = x;
      line += to;
      area += to;
    }
    close();
    this.line.setAttribute('d', line);
    this.area.setAttribute('d', area);
    this.rod.setAttribute('visibility', cursor === null ? 'hidden' : 'visible');
    const where = span - (last.t - then.t);
    this.rod.setAttribute('x1', where);
    this.rod.setAttribute('x2', where);
  }

  nearest(t) {
    let best = this.points[0];
    for (const p of this.points) if (Math.abs(p.t - t) < Math.abs(best.t - t)) best = p;
    return best;
  }
}
