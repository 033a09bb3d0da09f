// live asks once a second, as long as somebody looks, and says when there is no answer. What once returns
// stands before the name in the title.
const live = (name, once) => {
  let timer = 0, asking = false, again = false, since = ''; // since when there has been no answer; '': there is one

  const look = async () => {
    if (document.hidden) return;
    again = asking;
    if (asking) return; // another question has been asked meanwhile: asked again when this one is answered
    asking = true;
    clearTimeout(timer);
    const begin = performance.now();
    try {
      const before = await once();
      since = '';
      connection('live', 'live');
      show(at('lost'), false);
      at('main').classList.remove('stale');
      document.title = (before ? `(${before}) ` : '') + name;
    } catch (err) {
      since ||= new Date().toLocaleTimeString();
      connection('no answer', 'failing');
      say(at('lost'), `The server has not answered since ${since}: ${err.message}. What stands below is from before; it is asked again every second.`);
      show(at('lost'), true);
      at('main').classList.add('stale');
      document.title = '(no answer) ' + name;
    }
    asking = false;
    timer = setTimeout(look, again ? 0 : Math.max(1000 - (performance.now() - begin), 250));
    again = false;
  };

  const connection = (words, state) => {
    say(at('connection'), words);
    at('connection').className = 'chip ' + state;
  };

  document.addEventListener('visibilitychange', look);
  look();
  return look;
};
