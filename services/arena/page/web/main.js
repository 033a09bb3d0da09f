// The game: it takes what the server sends, makes sixty commands a second, and draws each frame. window.arena is what tests see.
import { HZ, COMMAND_MS, TOP_SPEED, SCALE, SIZE, direction } from './sim.js';
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
const SAY_MS = 250, SHOW_MS = 250, QUIET_MS = 500; // from one to the next of say and show; that the server may be silent
const MOST = 256, GIVE_UP = 120; // names, pickups; frames after which a key has moved nothing

const field = new Field(at('field')), input = new Input(at('field')), effects = new Effects(), graph = new NetGraph();
const lobby = new Lobby(join => { address(join, 'pushState'); start(join); });
let timeline, predictor, clock, pickups, names; // of this player in this room
let joined, welcome, lost, aim = 0; // what was asked for, and the answer
let last = 0, owed = 0, said = 0; // ms: the last frame; without a command; the last packet
let frames = 0, states = 0, pressed = 0, inputToDraw = 0, shown = { at: 0, bytes: 0, states: 0, frames: 0 }; // and the counts at a time

const name = id => names.get(id) ?? `Player ${id}`;
const colour = id => id === welcome.entityId ? field.colours.me : field.colour(id);
const own = () => predictor.known ? { ...predictor.drawn, id: welcome.entityId, dir: direction(aim), hp: predictor.hp, score: predictor.score } : undefined;
const playing = () => document.body.dataset.view === 'game';
const leave = () => { link.leave(); end(); };
const find = id => id === welcome.entityId ? own() : timeline.drawn.get(id);

function begin() {
  [timeline, predictor, clock, pickups, names] = [new Timeline(), new Predictor(), new Clock(), new Map(), new Map()];
  [welcome, lost, owed, pressed] = [undefined, '', 0, 0];
  effects.clear();
}

// address keeps in the page's own what a reload needs.
const address = ({ room, name, spectate }, how) =>
  history[how](null, '', `${location.pathname}?${new URLSearchParams({ room, name, ...spectate && { spectate: 1 } })}`);

function start(join) {
  lobby.close();
  begin();
  [joined, document.body.dataset.view] = [join, 'game'];
  field.resize();
  banner('Joining …');
  link.open(join);
}

function end(code, message) {
  link.close();
  input.release();
  begin();
  history.replaceState(null, '', location.pathname);
  lobby.open(code, message);
}

// route goes where the address says: into a room, or to the lobby.
function route() {
  const q = new URLSearchParams(location.search);
  if (q.has('room')) start(lobby.join({ room: q.get('room'), name: q.get('name') ?? '', spectate: q.has('spectate') }));
  else if (playing()) leave(); else lobby.open();
}

const link = new Link({
  welcome(w) {
    if (w.tickHz !== HZ || w.topSpeed !== TOP_SPEED || w.world !== SIZE || w.scale !== SCALE) return end('rules', 'the server has other rules than this page; reload it');
    if (welcome && (welcome.room !== w.room || welcome.entityId !== w.entityId)) begin();
    [welcome, lost] = [w, ''];
    predictor.again();
    pickups.clear();
    if (w.entityId) names.set(w.entityId, joined.name || 'You');
    address({ ...joined, room: w.room }, 'replaceState');
  },
  state(s, now) {
    states++;
    if (!welcome || !timeline.add(s, now)) return;
    const me = s.entities.find(e => e.id === welcome.entityId);
    if (!me) return;
    predictor.reconcile(me, s.ackedSeq);
    if (timeline.settling || now - said > SAY_MS) say(true); // after a stall, or when the page is hidden
  },
  event({ actionType: kind, entityId: id, payload }) {
    if (kind === KIND.named) {
      names.delete(id);
      if (payload.length && names.size < MOST) names.set(id, new TextDecoder().decode(payload).slice(0, 16));
    }
    if (!welcome || !kind || kind > KIND.renewed || payload.length !== 12) return; // of another game
    const p = place(payload);
    if (kind === KIND.taken) pickups.delete(p.number);
    if (kind === KIND.renewed && pickups.size < MOST) pickups.set(p.number, p);
    effects.at((timeline.newest?.tick ?? 0) + 1, () => happen(kind, id, p)); // the state that follows has it
  },
  pong: (p, now) => clock.pong(p, now),
  lost: ms => banner(lost = `The connection is lost. The page tries again in ${(ms / 1000).toFixed(1)} s; your place is kept for 30 s.`),
  refused: end,
});

// happen shows an event. Own shots are seen when they are made, and only that they hit when the server says so.
function happen(kind, id, p) {
  if (!welcome) return;
  const mine = id === welcome.entityId, from = find(id), other = find(p.number), { shot, kill, began, taken } = KIND;
  if (kind === shot && mine && other) effects.sparks(other, 8, colour(id));
  if (kind === shot && !mine && from) effects.shot(from, other, colour(id));
  if (kind === kill) feed(`${name(id)} shot ${name(p.number)}`, mine || p.number === welcome.entityId);
  if (kind === kill) effects.sparks(p, 24, colour(p.number));
  if (kind >= kill && kind <= taken) effects.ring(p, kind === kill ? colour(p.number) : kind === began ? colour(id) : field.colours.pickup);
  if (mine && (kind === kill || kind === taken)) effects.words(p, kind === kill ? '+5' : '+1', colour(id));
}

// command makes the commands that time has passed for, and sends them in packets of two or more.
function command(dt) {
  for (owed = Math.min(owed + dt, BURST * COMMAND_MS); owed >= COMMAND_MS; owed -= COMMAND_MS) {
    const c = input.take(field.at(predictor.drawn));
    aim = c.aim;
    if (predictor.command(c.buttons, aim, Math.floor(timeline.t))) effects.shot(own(), undefined, field.colours.me); // the server says what is hit
  }
  say(false);
}

// say sends the new commands; if it must, also when there are none, as the server learns from Input.ackTick which state this page has.
function say(must) {
  const input = predictor.packet(timeline.newest.tick, must);
  if (!input) return;
  link.send({ input });
  said = performance.now();
}

// inputToDraw is the number of frames from a key that sets the resting player in motion to the one that draws it moved: 1 is the next.
input.onPress = before => { if (!before && predictor.hp > 0) pressed = frames; };
function measure(before, { x, y }) {
  const moved = x !== before.x || y !== before.y;
  if (moved) inputToDraw = frames - pressed;
  if (moved || frames - pressed > GIVE_UP) pressed = 0;
}

function frame(now) {
  requestAnimationFrame(frame);
  const dt = Math.max(now - last, 0);
  [last, frames] = [now, frames + 1];
  if (!welcome || !timeline.newest) return;
  const fresh = timeline.frame(now, dt, welcome.entityId), before = predictor.ahead;
  if (predictor.known) {
    command(dt);
    predictor.frame(dt, input.buttons, owed / COMMAND_MS);
    if (pressed) measure(before, predictor.ahead);
  }
  effects.frame(timeline.t, dt);
  const me = own(), sticks = input.touched ? input.sticks : {};
  field.look(me);
  field.frame({ me, others: timeline.drawn, pickups, effects: effects.seen, name, sticks, now });
  graph.frame(dt, !fresh);
  if (now - shown.at > SHOW_MS) show(now);
}

function show(now) {
  const quiet = timeline.quietFor(performance.now()), per = n => Math.round(n * 1000 / (now - shown.at));
  scores([...timeline.newest.byId.values()], welcome.entityId, name);
  banner(lost || (quiet > QUIET_MS ? `The server has been silent for ${(quiet / 1000).toFixed(1)} s.` : ''));
  if (graph.shown) graph.draw({
    'round trip': `${clock.rtt.toFixed(0)} ± ${clock.jitter.toFixed(0)} ms`,
    'bytes in': `${per(link.bytes - shown.bytes)} /s`,
    'states, frames': `${per(states - shown.states)}, ${per(frames - shown.frames)} /s`,
    'others wait': `${(timeline.delay * 1000 / HZ).toFixed(0)} ms`,
    'behind': `${((clock.tick(now) ?? timeline.t) - timeline.t).toFixed(1)} ticks`,
    'corrections': predictor.corrections,
    'late states': timeline.late,
  }, field.colours);
  shown = { at: now, bytes: link.bytes, states, frames };
}

for (const id of ['leave', 'banner-leave']) at(id).addEventListener('click', leave);
at('net-button').addEventListener('click', e => { graph.toggle(); e.target.blur(); });
addEventListener('keydown', e => { if (e.key === 'n' && playing() && !e.ctrlKey && !e.metaKey) graph.toggle(); });
addEventListener('popstate', route);

// What tests see. Places are in the wire's units, 1/32 of the world's; topSpeed is in the world's, a second.
window.arena = {
  get ready() { return Boolean(welcome && timeline.newest && (predictor.known || !welcome.entityId)); },
  get id() { return welcome?.entityId ?? 0; }, get room() { return welcome?.room ?? ''; }, topSpeed: TOP_SPEED,
  get tick() { return timeline.tick; }, get drawnTick() { return timeline.t; }, // of the newest state, and as others are drawn
  get me() { return { x: Math.round(predictor.drawn.x), y: Math.round(predictor.drawn.y), score: predictor.score }; }, // as drawn
  hashAt: tick => timeline.hashAt(tick),
  stats: {
    get rttMs() { return clock.rtt; }, get delayMs() { return timeline.delay * 1000 / HZ; }, // of an exchange; that others are drawn late
    get inputToDraw() { return inputToDraw; }, get corrections() { return predictor.corrections; }, // frames; and a number
    get maxRemoteStep() { return timeline.maxStep; }, // the fastest that another was drawn to move, in times the top speed
    get lateStates() { return timeline.late; }, get wrongHashes() { return timeline.wrong; },
  },
};

begin();
route();
requestAnimationFrame(frame);
