// How figures are written.
const number = new Intl.NumberFormat('en');

const count = n => number.format(n);

const rate = v => (v >= 100 ? count(Math.round(v)) : +v.toFixed(v >= 10 ? 1 : 2)) + '/s';

const age = s => {
  if (!(s > 0)) return '0 s';
  if (s < 10) return +s.toFixed(1) + ' s';
  if (s < 60) return Math.floor(s) + ' s';
  const two = (big, unit, small, part) => {
    const rest = Math.floor(s % big / small);
    return Math.floor(s / big) + ' ' + unit + (rest ? ' ' + rest + ' ' + part : '');
  };
  if (s < 3600) return two(60, 'min', 1, 's');
  return s < 86400 ? two(3600, 'h', 60, 'min') : two(86400, 'd', 3600, 'h');
};

const bytes = n => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return (i && n < 10 ? n.toFixed(1) : count(Math.round(n))) + ' ' + units[i];
};

const plural = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');
