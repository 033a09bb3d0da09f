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
  if (at('feed').children.length > FEED) at('feed').firstChild.remove();
  setTimeout(() => line.remove(), FEED_MS);
}

// tell shows a text in an element that is hidden when there is none; banner says what is wrong during a game.
export function tell(element, text, words = element) {
  if (words.textContent !== text) words.textContent = text;
  element.hidden = !text;
}
export const banner = text => tell(at('banner'), text, at('banner-text'));

// scores shows the best, and the own player wherever it is.
export function scores(entities, me, name) {
  const order = entities.toSorted((a, b) => b.score - a.score || a.id - b.id), own = order.find(e => e.id === me);
  const spans = (...texts) => texts.map(text => make('span', text));
  at('own').replaceChildren(...own ? spans(`♥ ${own.hp}`, `★ ${own.score}`) : spans('Watching', `${order.length} here`));
  const shown = order.map((e, i) => [e, i + 1]).filter(([e, rank]) => rank <= SCORES || e === own);
  at('scores').replaceChildren(...shown.map(([e, rank]) => make('li', spans(`${rank}. ${name(e.id)}`, e.score), { className: e === own ? 'own' : '' })));
  at('down').hidden = !own || own.hp > 0;
}

// NetGraph is a bar for each frame, as high as it took, and the figures of a moment.
export class NetGraph {
  #bars = []; // {ms, starved}
  get shown() { return !at('net').hidden; }
  frame(ms, starved) { this.#bars = [...this.#bars, { ms, starved }].slice(-BARS); }
  toggle() {
    at('net').hidden = this.shown;
    at('net-button').setAttribute('aria-pressed', this.shown);
  }

  draw(figures, { good, part, bad }) {
    const c = at('graph').getContext('2d'), { width, height } = c.canvas, wide = width / BARS;
    c.clearRect(0, 0, width, height);
    this.#bars.forEach(({ ms, starved }, i) => {
      c.fillStyle = starved ? bad : ms > 25 ? part : good;
      const high = Math.min(ms / 50, 1) * height; // a sixtieth of a second is a third
      c.fillRect(i * wide, height - high, wide - 1, high);
    });
    at('figures').replaceChildren(...Object.entries(figures).flatMap(([k, v]) => [make('dt', k), make('dd', v)]));
  }
}
