// A game server as Colyseus's documentation advises: a room with a schema as its state, inputs
// declared by defineInput, and a fixed step, at the end of which the state is broadcast. It moves
// players as services/arena/game does, and does nothing else: no shots, pickups or checks.
//
//	node server.mjs ADDRESS PORT
import { Room, Server } from "@colyseus/core";
import { schema, t } from "@colyseus/schema";
import { WebSocketTransport } from "@colyseus/ws-transport";

const [address, port] = process.argv.slice(-2);
const hz = 30, edge = 1000 * 32 - 1, stride = 64, diagonal = 45; // as in services/arena/game
const up = 1, down = 2, left = 4, right = 8;

const Player = schema({ x: t.uint16(), y: t.uint16(), dir: t.uint8(), hp: t.uint8(), score: t.uint16() }, "Player");
const State = schema({ players: t.map(Player) }, "State");
const Commands = schema({ first: t.uint8(), second: t.uint8(), aim: t.uint8() }, "Commands"); // a packet: two sixtieths of a second

function move(player, buttons) {
  const dx = (buttons & right ? 1 : 0) - (buttons & left ? 1 : 0);
  const dy = (buttons & down ? 1 : 0) - (buttons & up ? 1 : 0);
  const by = dx !== 0 && dy !== 0 ? diagonal : stride;
  if (dx !== 0) player.x = Math.min(Math.max(player.x + dx * by, 0), edge);
  if (dy !== 0) player.y = Math.min(Math.max(player.y + dy * by, 0), edge);
}

function apply(player, commands) {
  move(player, commands.first);
  move(player, commands.second);
  player.dir = commands.aim;
}

class Arena extends Room {
  maxClients = 50;
  state = new State();

  onCreate() {
    this.setFixedTimestep(() => {
      this.step();
      this.broadcastPatch();
    }, hz);
    // Each step broadcasts, so that frames neither miss a step nor beat against it. Said before there is
    // a step, this would start a timer that takes the step's time away.
    this.patchRate = null;
  }

  onJoin(client) {
    const player = new Player();
    player.x = Math.floor(Math.random() * edge);
    player.y = Math.floor(Math.random() * edge);
    player.dir = 0;
    player.hp = 100;
    player.score = 0;
    this.state.players.set(client.sessionId, player);
  }

  onLeave(client) {
    this.state.players.delete(client.sessionId);
  }
}

// Inputs acknowledges: each patch carries the client's last input, in front of the state.
class Inputs extends Arena {
  inputs = this.defineInput(Commands);

  step() {
    for (const [id, player] of this.state.players) {
      for (const commands of this.inputs.get(id)) apply(player, commands);
    }
  }
}

// Messages is the way before 0.18, in which nothing acknowledges.
class Messages extends Arena {
  waiting = [];
  messages = {
    i: (client, commands) => this.waiting.push([client.sessionId, commands]),
  };

  step() {
    for (const [id, commands] of this.waiting) {
      const player = this.state.players.get(id);
      if (player) apply(player, commands);
    }
    this.waiting.length = 0;
  }
}

const server = new Server({ transport: new WebSocketTransport(), greet: false });
server.define("inputs", Inputs);
server.define("messages", Messages);
await server.listen(Number(port), address);
console.log(JSON.stringify({ ready: true }));
