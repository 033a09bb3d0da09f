// A small chart of the last five minutes. Charts share one cursor: pointing at one, or moving the arrows
// in it, shows what all of them said then.
const span = 300; // seconds that a chart shows
const grain = 3; // seconds that become one point of the line: a pixel or two
const charts = [];

const svg = (name, properties) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(properties)) e.setAttribute(k, v);
  return e;
};

// A scale ends at a round figure that is not below v: of numbers at 1, 2 or 5 times a power of ten, of times
// at what people count in.
const roundNumber = v => {
  if (!(v > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map(m => m * power).find(c => c >= v);
};
const times = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
const roundTime = v => times.find(c => c >= v) ?? 86400 * roundNumber(v / 86400);

let cursor = null; // seconds before now; null: none
const point = seconds => {
  cursor = seconds === null ? null : Math.min(Math.max(seconds, 0), span);
  charts.forEach(c => c.draw());
};

class Chart {
  constructor(name, title, words, round = roundNumber) {
    Object.assign(this, {words, round});
    this.points = []; // {t: seconds, v: value or null for a gap}
    this.value = el('strong', {class: 'value'}, '–');
    this.note = el('span', {class: 'dim note-line'});
    this.top = el('span', {class: 'top-mark dim', 'aria-hidden': 'true'});
    this.line = svg('path', {class: 'line'});
    this.area = svg('path', {class: 'area'});
    this.rod = svg('line', {class: 'rod', y1: 0, y2: 100, visibility: 'hidden'});
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

  // begin puts earlier points in front of those that are there.
  begin(points) {
    const first = this.points[0]?.t ?? Infinity;
    this.points.unshift(...points.filter(p => p.t < first));
    this.draw();
  }

  // means are the points of the line; the last counts when its seconds are over.
  means() {
    const out = [];
    let sum = 0, n = 0;
    this.points.forEach((p, i) => {
      const next = this.points[i + 1];
      if (p.v !== null) { sum += p.v; n++; }
      if (next && p.v !== null && next.v !== null && Math.floor(next.t / grain) === Math.floor(p.t / grain)) return;
      if (next || !out.length) out.push({t: p.t, v: p.v === null ? null : sum / n});
      sum = n = 0;
    });
    return out;
  }

  draw() {
    const last = this.points.at(-1);
    if (!last) return;
    const means = this.means(), top = this.round(Math.max(...means.map(p => p.v ?? 0)));
    this.tell(means, last, top);
    let line = '', area = '', begin = null, x = 0;
    const close = () => { if (begin !== null) area += `L${x} 100L${begin} 100Z`; begin = null; };
    for (const p of means) {
      if (p.v === null) { close(); continue; }
      x = (span - (last.t - p.t)).toFixed(1);
      const y = (98 - 94 * p.v / top).toFixed(1), to = (begin === null ? 'M' : 'L') + x + ' ' + y;
      begin ??= x;
      line += to;
      area += to;
    }
    close();
    this.line.setAttribute('d', line);
    this.area.setAttribute('d', area);
  }

  // tell writes what is so now, or was under the cursor.
  tell(means, last, top) {
    let then = last;
    if (cursor !== null) for (const p of means) if (Math.abs(p.t - last.t + cursor) < Math.abs(then.t - last.t + cursor)) then = p;
    say(this.value, then.v === null ? '–' : this.words(then.v));
    say(this.top, cursor === null ? this.words(top) : age(last.t - then.t) + ' ago');
    this.rod.setAttribute('visibility', cursor === null ? 'hidden' : 'visible');
    for (const end of ['x1', 'x2']) this.rod.setAttribute(end, span - (last.t - then.t));
  }
}

// remember draws what was before the page was opened, which the server has kept of the charts in their order.
const remember = async charts => {
  try {
    const past = await (await ask('recent')).json(), now = performance.now() / 1000;
    charts.forEach((c, i) => c.begin(past.ages_s.map((age, n) => ({t: now - age, v: past.figures[i][n]}))));
  } catch { /* then the charts begin now */ }
};
