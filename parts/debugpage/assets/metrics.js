// Metrics as Prometheus reads them: a name, labels, a value. What is asked of them is said of now, or of the
// time since an earlier answer.
const labelled = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const unescaped = {'\\n': '\n', '\\"': '"', '\\\\': '\\'};

const parseMetrics = text => {
  const metrics = new Map();
  for (const line of text.split('\n')) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!m) continue;
    const labels = {};
    for (const [, name, value] of (m[2] ?? '').matchAll(labelled)) labels[name] = value.replace(/\\[n"\\]/g, s => unescaped[s]);
    const v = m[3] === '+Inf' ? Infinity : m[3] === '-Inf' ? -Infinity : Number(m[3]);
    if (!metrics.has(m[1])) metrics.set(m[1], []);
    metrics.get(m[1]).push({labels, v});
  }
  return metrics;
};

// series are those of a name whose labels are as wanted.
const series = (metrics, name, wanted = {}) =>
  (metrics.get(name) ?? []).filter(s => Object.entries(wanted).every(([k, v]) => s.labels[k] === v));

// sum of a name; null: there is none.
const sum = (metrics, name, wanted) => {
  const all = series(metrics, name, wanted);
  return all.length ? all.reduce((n, s) => n + s.v, 0) : null;
};

// more is how much a counter has grown; one that falls is another process's, which has begun at 0.
const more = (now, then, name, wanted) => {
  const n = sum(now, name, wanted), before = sum(then, name, wanted) ?? 0;
  return n === null ? null : n < before ? n : n - before;
};

// quantile of a histogram's growth, linear within a bucket; null: nothing was observed, or all of it lies
// beyond the last bucket that has an end.
const quantile = (now, then, name, wanted, q) => {
  const buckets = new Map();
  for (const [metrics, sign] of [[now, 1], [then, -1]]) {
    for (const s of series(metrics, name + '_bucket', wanted)) {
      const le = s.labels.le === '+Inf' ? Infinity : Number(s.labels.le);
      buckets.set(le, (buckets.get(le) ?? 0) + sign * s.v);
    }
  }
  const ends = [...buckets.keys()].sort((a, b) => a - b), all = buckets.get(Infinity) ?? 0;
  if (!(all > 0)) return null;
  let below = 0, from = 0;
  for (const end of ends) {
    const n = buckets.get(end);
    if (n >= q * all) return end === Infinity ? from : n === below ? end : from + (end - from) * (q * all - below) / (n - below);
    [below, from] = [n, end];
  }
  return null;
};
