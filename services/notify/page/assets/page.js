// Asks once a second, as long as somebody looks, and says when there is no answer.
let timer = 0, asking = false, since = ''; // since when there has been no answer; '': there is one

const look = async () => {
  if (asking || document.hidden) return;
  asking = true;
  clearTimeout(timer);
  const begin = performance.now();
  try {
    const stats = await (await ask('v1/stats?limit=' + asked)).json();
    showFigures(stats, performance.now() / 1000);
    showSubscriptions(stats.subscriptions);
    await refreshLetters();
    heard(stats);
  } catch (err) { unheard(err); }
  asking = false;
  timer = setTimeout(look, Math.max(1000 - (performance.now() - begin), 250));
};

const connection = (words, state) => {
  say(at('connection'), words);
  at('connection').className = 'chip ' + state;
};

const heard = stats => {
  since = '';
  connection('live', 'live');
  show(at('lost'), false);
  at('main').classList.remove('stale');
  const failing = stats.subscriptions.filter(s => s.state === 'failing').length;
  document.title = (failing ? `(${failing} failing) ` : '') + 'notifyd';
};

const unheard = err => {
  since ||= new Date().toLocaleTimeString();
  connection('no answer', 'failing');
  say(at('lost'), `The server has not answered since ${since}: ${err.message}. What stands below is from before; it is asked again every second.`);
  show(at('lost'), true);
  at('main').classList.add('stale');
  document.title = '(no answer) notifyd';
};

document.addEventListener('visibilitychange', look);
look();
