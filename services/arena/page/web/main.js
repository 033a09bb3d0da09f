// The game: it takes what the server sends, makes sixty commands a second, and draws each frame. window.arena is what tests see.
import { HZ, COMMAND_MS, TOP_SPEED, SCALE, SIZE, direction, target } from './sim.js';
import { place } from './wire.js';
import { Link } from './link.js';
import { Clock } from './clock.js';
import { Timeline } from './timeline.js';
import { Predictor } from './predict.js';
import { Input } from './input.js';
import { Effects, KIND } from './effects.js';
import { Field } from './draw.js';
import { Lobby } from './lobby.js';
import { at, feed, banner, scores, NetGraph } from './hud.js';

const BURST = 8; // commands of one frame: the server takes no more than that ahead of time
const SAY_MS = 250, HUD_MS = 250, QUIET_MS = 500, MOST = 256; // names, pickups
const GIVE_UP = 120; // frames: a key that moved nothing

const field = new Field(at('field')), input = new Input(at('field')), effects = new Effects(), graph = new NetGraph();
const lobby = new Lobby(join => { address(join, false); start(join); });
let timeline, predictor, clock, pickups, names; // of this player in this room
let joined = {}, welcome, lost = false, aim = 0; // what was asked for, and the answer
let last = 0, owed = 0, frames = 0, pressed = 0, inputToDraw = 0; // times in ms
let shown = { at: 0, bytes: 0, states: 0, frames: 0 }; // when the figures were shown, and the counts then
let states = 0, said = 0;

const name = id => names.get(id) ?? `Player ${id}`;
const colour = id => id === welcome.entityId ? field.colours.me : field.colour(id);
const own = () => predictor.known ? { ...predictor.drawn, id: welcome.entityId, dir: direction(aim), hp: predictor.hp, score: predictor.score } : undefined;
const find = id => id === welcome.entityId ? own() : timeline.drawn.get(id);

function begin() {
  [timeline, predictor, clock, pickups, names] = [new Timeline(), new Predictor(), new Clock(), new Map(), new Map()];
  effects.clear();
  [welcome, owed, pressed] = [undefined, 0, 0];
}

// address keeps in the page's own what a reload needs.
function address({ room, name, spectate }, replace) {
  const q = new URLSearchParams({ room, name, ...spectate && { spectate: 1 } });
  history[replace ? 'replaceState' : 'pushState'](null, '', `${location.pathname}?${q}`);
}

function start(join) {
  lobby.close();
  begin();
  [joined, lost] = [join, false];
  document.body.dataset.view = 'game';
  banner('Joining …');
  link.open(join);
}

function end(code, message) {
  link.close();
  input.release();
  history.replaceState(null, '', location.pathname);
  begin();
  lobby.open(code, message);
}

function leave() {
  link.leave();
  end();
}

// route goes where the address says: into a room, or to the lobby.
function route() {
  const q = new URLSearchParams(location.search);
  if (q.has('room')) start(lobby.join({ room: q.get('room'), name: q.get('name') ?? '', spectate: q.has('spectate') }));
  else if (document.body.dataset.view === 'game') leave(); else lobby.open();
}

const link = new Link({
  welcome(w) {
    if (w.tickHz !== HZ || w.topSpeed !== TOP_SPEED || w.world !== SIZE || w.scale !== SCALE) return end('rules', 'the server has other rules than this page; reload it');
    if (welcome && (welcome.room !== w.room || welcome.entityId !== w.entityId)) begin();
    [welcome, lost] = [w, false];
    predictor.again();
    pickups.clear();
    if (w.entityId) names.set(w.entityId, joined.name || 'You');
    address({ ...joined, room: w.room }, true);
  },
  state(s, now) {
    states++;
    if (!welcome || !timeline.add(s, now)) return;
    const me = s.entities.find(e => e.id === welcome.entityId);
    if (me) predictor.reconcile(me, s.ackedSeq);
    if (me && (timeline.settling || now - said > SAY_MS)) say(true); // after a stall, or when the page is hidden
  },
  event(e) {
    if (e.actionType === KIND.named) {
      names.set(e.entityId, new TextDecoder().decode(e.payload).slice(0, 16));
      if (names.size > MOST) names.delete(names.keys().next().value);
    }
    if (!welcome || !e.actionType || e.actionType > KIND.renewed || e.payload.length !== 12) return; // of another game
    const p = place(e.payload);
    if (e.actionType === KIND.taken) pickups.delete(p.number);
    if (e.actionType === KIND.renewed && pickups.size < MOST) pickups.set(p.number, p);
    effects.at((timeline.newest?.tick ?? 0) + 1, () => happen(e.actionType, e.entityId, p)); // the state that follows has it
  },
  pong: (p, now) => clock.pong(p, now),
  lost(ms) {
    lost = true;
    banner(`The connection is lost. The page tries again in ${(ms / 1000).toFixed(1)} s; your place is kept for 30 s.`);
  },
  refused: end,
});

// happen shows an event. Own shots are seen when they are made, and only that they hit when the server says so.
function happen(kind, id, p) {
  const me = welcome?.entityId, mine = id === me;
  if (!welcome) return;
  if (kind === KIND.shot) {
    const from = find(id), hit = find(p.number);
    if (mine && hit) effects.sparks(hit, 8, colour(me));
    if (!mine && from) effects.shot(from, hit, colour(id));
  }
  if (kind === KIND.kill) {
    feed(`${name(id)} shot ${name(p.number)}`, mine || p.number === me);
    effects.sparks(p, 24, colour(p.number));
    effects.ring(p, colour(p.number));
  }
  if (kind === KIND.began) effects.ring(p, colour(id));
  if (kind === KIND.taken) effects.ring(p, field.colours.pickup);
  if (mine && (kind === KIND.kill || kind === KIND.taken)) effects.words(p, kind === KIND.kill ? '+5' : '+1', colour(me));
}

// command makes the commands that time has passed for, and sends them in packets of two or more.
function command(dt) {
  for (owed = Math.min(owed + dt, BURST * COMMAND_MS); owed >= COMMAND_MS; owed -= COMMAND_MS) {
    const c = input.take(field.at(predictor.drawn));
    aim = c.aim;
    if (!predictor.command(c.buttons, aim, Math.floor(timeline.t))) continue;
    const me = own();
    effects.shot(me, target(me, timeline.drawn.values()), field.colours.me);
  }
  say(false);
}

// say sends the new commands; if the server must hear, also when there are none. It shows what this page has by Input.ackTick alone.
function say(must) {
  const input = predictor.packet(timeline.newest.tick, must);
  if (!input) return;
  link.send({ input });
  said = performance.now();
}

// inputToDraw is the number of frames from a key that sets the resting player in motion to the one that draws it moved: 1 is the next.
input.onPress = before => { if (!before && predictor?.hp > 0) pressed = frames; };
function measure(before) {
  const { x, y } = predictor.ahead;
  if (x !== before.x || y !== before.y) inputToDraw = frames - pressed;
  else if (frames - pressed < GIVE_UP) return;
  pressed = 0;
}

function frame(now) {
  requestAnimationFrame(frame);
  const dt = Math.max(now - last, 0);
  last = now;
  frames++;
  if (!welcome || !timeline.newest) return;
  const fresh = timeline.frame(now, dt, welcome.entityId);
  if (predictor.known) {
    const before = predictor.ahead;
    command(dt);
    predictor.frame(dt, input.buttons, owed / COMMAND_MS);
    if (pressed) measure(before);
  }
  effects.frame(timeline.t, dt);
  const me = own();
  field.look(me);
  field.frame({ me, others: timeline.drawn, pickups, effects: effects.seen, name, sticks: input.touched ? input.sticks : {}, now });
  graph.frame(dt, !fresh);
  if (now - shown.at > HUD_MS) show(now);
}

function show(now) {
  const quiet = timeline.quietFor(performance.now()), per = n => n * 1000 / (now - shown.at), count = { at: now, bytes: link.bytes, states, frames };
  scores([...timeline.newest.byId.values()], welcome.entityId, name);
  if (!lost) banner(quiet > QUIET_MS ? `The server has been silent for ${(quiet / 1000).toFixed(1)} s.` : '');
  if (graph.shown) graph.draw({
    'round trip': `${clock.rtt.toFixed(0)} ± ${clock.jitter.toFixed(0)} ms`,
    'bytes in': `${(per(link.bytes - shown.bytes) / 1000).toFixed(1)} kB/s`,
    'states': `${per(states - shown.states).toFixed(0)} /s`,
    'frames': `${per(frames - shown.frames).toFixed(0)} /s`,
    'others wait': `${(timeline.delay * 1000 / HZ).toFixed(0)} ms`,
    'behind': `${((clock.tick(now) ?? timeline.t) - timeline.t).toFixed(1)} ticks`,
    'corrections': predictor.corrections,
    'late states': timeline.late,
  }, field.colours);
  shown = count;
}

at('leave').addEventListener('click', leave);
at('banner-leave').addEventListener('click', leave);
at('net-button').addEventListener('click', e => { graph.toggle(); e.target.blur(); });
addEventListener('keydown', e => { if (e.key.toLowerCase() === 'n' && document.body.dataset.view === 'game' && !e.ctrlKey && !e.metaKey) graph.toggle(); });
addEventListener('popstate', route);

// What tests see. Places are in the wire's units, 1/32 of the world's; topSpeed is in the world's, a second.
window.arena = {
  get ready() { return Boolean(welcome && timeline.newest && (predictor.known || !welcome.entityId)); },
  get id() { return welcome?.entityId ?? 0; },
  get room() { return welcome?.room ?? ''; },
  get tick() { return timeline.tick; }, // of the newest state
  get drawnTick() { return timeline.t; }, // that others are drawn at, with its fraction
  get topSpeed() { return welcome?.topSpeed ?? TOP_SPEED; },
  get me() {
    const me = welcome && own(); // where it is drawn
    return me ? { x: Math.round(me.x), y: Math.round(me.y), score: me.score } : null;
  },
  hashAt: tick => timeline.hashAt(tick),
  stats: {
    get rttMs() { return clock.rtt; },
    get inputToDraw() { return inputToDraw; }, // frames
    get maxRemoteStep() { return timeline.maxStep; }, // the fastest that another was drawn to move, in times the top speed
    get corrections() { return predictor.corrections; },
    get delayMs() { return timeline.delay * 1000 / HZ; },
    get lateStates() { return timeline.late; },
    get wrongHashes() { return timeline.wrong; },
  },
};

begin();
route();
requestAnimationFrame(frame);
