// The list of experiments: filters while the user types, requests answers as they scroll into view.
// Everything except the answers works without it.
(() => {
  'use strict';
  const items = [...document.querySelectorAll('.experiments > li')];
  const none = document.getElementById('none');

  const search = document.getElementById('search');
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(w => w);
    let shown = 0;
    for (const li of items) {
      const text = li.textContent.toLowerCase();
      li.hidden = !words.every(w => text.includes(w));
      shown += !li.hidden;
    }
    none.hidden = shown > 0 || items.length === 0;
  };
  search.addEventListener('input', filter);

  // Reports are built one after another, so concurrent requests gain nothing.
  const waiting = [];
  let asking = false;
  const next = async () => {
    if (asking || !waiting.length) return;
    asking = true;
    const said = waiting.shift();
    try {
      const r = await fetch(said.dataset.ask);
      const text = r.ok ? await r.json() : {answer: 'It could not be read: ' + (await r.text()).trim(), invalid: true};
      said.textContent = text.answer;
      said.classList.toggle('bad', text.invalid);
      const runs = said.closest('li').querySelector('.runs');
      if (r.ok && text.valid < text.runs) runs.textContent += ', ' + text.valid + ' count';
      if (search.value) filter();
    } catch {
      said.textContent = '';
    }
    asking = false;
    next();
  };
  const sight = new IntersectionObserver(entries => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      sight.unobserve(e.target);
      waiting.push(e.target);
    }
    next();
  }, {rootMargin: '200px'});
  document.querySelectorAll('[data-ask]').forEach(e => sight.observe(e));
})();
