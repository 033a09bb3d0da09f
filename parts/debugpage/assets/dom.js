// Elements. What the server says becomes text, never markup.
const at = id => document.getElementById(id);

// el('td', {class: 'n'}, child, 'text') makes an element; properties that begin with "on" are listeners.
const el = (name, properties = {}, ...children) => {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(properties)) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
};

// say changes a text only where it differs, so that a selection lasts and a reader hears it once.
const say = (e, text) => {
  text = String(text);
  if (e.textContent !== text) e.textContent = text;
};

const show = (e, yes) => { e.hidden = !yes; };

// keyed keeps a row for each item: rows that stay are changed in place, so that focus, selection and what
// was opened last.
const keyed = (body, make, update) => {
  const rows = new Map();
  return items => {
    const focus = document.activeElement, wanted = new Set(items.map(i => i.id));
    for (const [id, row] of rows) {
      if (wanted.has(id)) continue;
      row.remove();
      row.detail?.remove();
      rows.delete(id);
    }
    let here = body.firstElementChild;
    for (const item of items) {
      let row = rows.get(item.id);
      if (!row) rows.set(item.id, row = make(item));
      update(row, item);
      if (row === here) here = here.nextElementSibling;
      else body.insertBefore(row, here);
      if (!row.detail) continue;
      if (row.detail === here) here = here.nextElementSibling;
      else body.insertBefore(row.detail, here);
    }
    if (focus !== document.activeElement && body.contains(focus)) focus.focus({preventScroll: true}); // its row moved
  };
};

// ask sends a request below the page and returns the answer; an error says what the server said.
const ask = async (path, options) => {
  const r = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(10_000), ...options});
  if (r.ok) return r;
  const text = await r.text();
  let said = text.trim();
  try { said = JSON.parse(text).error ?? said; } catch { /* it was not JSON: a proxy's page, perhaps */ }
  throw new Error(said.slice(0, 300) || r.status + ' ' + r.statusText);
};
