// What stands around the picture: scores, what happened, what is wrong, and the net graph. Texts are set as text, never as markup.
const FEED = 5, FEED_MS = 6000, SCORES = 5, BARS = 110;

export const at = id => document.getElementById(id);

// make returns an element with a text or with children.
export function make(tag, inside = [], attributes = {}) {
  const e = Object.assign(document.createElement(tag), attributes);
  e.append(...[inside].flat());
  return e;
}

export function feed(text, own) {
  const line = make('li', text, { className: own ? 'own' : '' });
  at('feed').append(line);
  while (at('feed').children.length > FEED) at('feed').firstChild.remove();
  setTimeout(() => line.remove(), FEED_MS);
}

// banner says what is wrong during a game; '': nothing is.
export function banner(text) {
  if (at('banner-text').textContent !== text) at('banner-text').textContent = text;
  at('banner').hidden = !text;
}

// scores shows the best, and the own player wherever it is.
export function scores(entities, me, name) {
  const order = entities.toSorted((a, b) => b.score - a.score || a.id - b.id), own = order.findIndex(e => e.id === me);
  const shown = order.map((e, i) => [i + 1, e]).filter(([rank, e]) => rank <= SCORES || e.id === me);
  at('own').replaceChildren(...own < 0 ? [make('span', 'Watching'), make('span', `${order.length} here`)]
    : [make('span', `♥ ${order[own].hp}`), make('span', `★ ${order[own].score}`)]);
  at('scores').replaceChildren(...shown.map(([rank, e]) =>
    make('li', [make('span', `${rank}. ${name(e.id)}`), make('span', e.score)], { className: e.id === me ? 'own' : '' })));
  at('down').hidden = own < 0 || order[own].hp > 0;
}

// NetGraph is a bar for each frame, as high as it took, and the figures of a moment.
export class NetGraph {
  #bars = []; // {ms, bad}
  get shown() { return !at('net').hidden; }
  toggle() {
    at('net').hidden = this.shown;
    at('net-button').setAttribute('aria-pressed', this.shown);
  }

  frame(ms, starved) {
    this.#bars.push({ ms, starved });
    if (this.#bars.length > BARS) this.#bars.shift();
  }

  draw(figures, { good, part, bad, rule }) {
    const c = at('graph').getContext('2d'), { width, height } = c.canvas, wide = width / BARS;
    c.clearRect(0, 0, width, height);
    this.#bars.forEach(({ ms, starved }, i) => {
      c.fillStyle = starved ? bad : ms > 25 ? part : good;
      const high = Math.min(ms / 50, 1) * height;
      c.fillRect(i * wide, height - high, wide - 1, high);
    });
    c.fillStyle = rule;
    c.fillRect(0, height - height / 3, width, 1); // a sixtieth of a second
    at('figures').replaceChildren(...Object.entries(figures).flatMap(([k, v]) => [make('dt', k), make('dd', v)]));
  }
}
