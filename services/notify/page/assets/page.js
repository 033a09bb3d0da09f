// What is asked for, and shown of it.
const look = live('notifyd', async () => {
  const turn = finding.turn;
  const stats = await (await ask(question())).json();
  showFigures(stats, performance.now() / 1000);
  if (turn === finding.turn) showSubscriptions(stats);
  await refreshLetters();
  const failing = stats.states.failing ?? 0;
  return failing ? failing + ' failing' : '';
});
