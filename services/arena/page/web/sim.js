// The rules of the server's package game, as far as the page predicts them: integers, so that both come to the same.
export const UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, FIRE = 16, MOTION = UP | DOWN | LEFT | RIGHT;
export const SIZE = 1000, SCALE = 32, EDGE = SIZE * SCALE - 1; // of the world, and units in 1
export const HZ = 30, TICK_MS = 1000 / HZ, COMMAND_MS = TICK_MS / 2;
export const TOP_SPEED = 120; // in a second
export const RADIUS = 16 * SCALE, REACH = 600 * SCALE; // of a player, of a shot
export const RELOAD = 12, FULL = 100; // commands from shot to shot; hit points
const STRIDE = TOP_SPEED * SCALE / 60, DIAGONAL = Math.floor(STRIDE * 7071 / 10000); // units that a command moves a player
const within = v => Math.min(Math.max(v, 0), EDGE);
// move returns where a player is after a command.
export function move(x, y, buttons) {
  const dx = (buttons >>> 3 & 1) - (buttons >>> 2 & 1), dy = (buttons >>> 1 & 1) - (buttons & 1);
  const by = dx && dy ? DIAGONAL : STRIDE;
  return [within(x + dx * by), within(y + dy * by)];
}

// direction is that of an aim (1/65536 of a turn), in 1/256 of a turn.
export const direction = aim => (aim + 128) >> 8 & 255;
