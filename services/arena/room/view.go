package room

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

// view is a state on its way to the clients. What several of them receive is made once.
type view struct {
	room   *Room
	now    *delta.State
	frames []byte // for a client
	shared []byte // the fields of a Snapshot that are the same for all
	whole  wire.Snapshot
	deltas []encoded
	n      int // of them
	prefix [2 * binary.MaxVarintLen64]byte
}

// encoded is the bits from two states on.
type encoded struct {
	base, before uint32
	bits         []byte
}

func (v *view) begin(r *Room, now *delta.State) {
	v.room, v.now, v.shared, v.n = r, now, v.shared[:0], 0
}

// Fields of the wire.
const (
	frameSnapshot  = 2
	snapshotAcked  = 2
	compactMessage = 1
)

// append appends the frame of the state for a client.
func (v *view) append(to []byte, c *Client, acked uint32) []byte {
	switch state := v.room.config.State; {
	case state == "each":
		message, err := proto.Marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Snapshot{Snapshot: v.snapshot(acked)}})
		if err != nil {
			panic(err) // it has no strings
		}
		return socket.Append(to, c.prefix(), message)
	case c.bits && state != "shared":
		prefix := append(v.prefix[:0], compactMessage)
		bits := v.delta(c)
		return socket.Append(to, binary.AppendUvarint(prefix, uint64(acked)), bits)
	}
	if len(v.shared) == 0 {
		v.share()
	}
	var ack [1 + binary.MaxVarintLen32]byte
	field := protowire.AppendVarint(protowire.AppendTag(ack[:0], snapshotAcked, protowire.VarintType), uint64(acked))
	prefix := append(v.prefix[:0], c.prefix()...)
	prefix = protowire.AppendTag(prefix, frameSnapshot, protowire.BytesType)
	prefix = protowire.AppendVarint(prefix, uint64(len(field)+len(v.shared)))
	return socket.Append(to, append(prefix, field...), v.shared)
}

// share makes the fields of a Snapshot that are the same for all, in the memory of the last ones.
func (v *view) share() {
	s := &v.whole
	s.Tick, s.Hash = v.now.Tick, v.now.Hash
	for len(s.Entities) < len(v.now.Entities) {
		s.Entities = append(s.Entities, new(wire.Entity))
	}
	all := s.Entities
	s.Entities = all[:len(v.now.Entities)]
	for i, e := range v.now.Entities {
		to := s.Entities[i]
		to.Id, to.X, to.Y, to.Dir, to.Hp, to.Score = e.ID, e.X, e.Y, e.Dir, e.HP, e.Score
	}
	size := s.SizeVT()
	v.shared = slices.Grow(v.shared[:0], size)[:size]
	if _, err := s.MarshalToSizedBufferVT(v.shared); err != nil {
		panic(err) // it has no strings
	}
	s.Entities = all
}

func (v *view) snapshot(acked uint32) *wire.Snapshot {
	s := &wire.Snapshot{Tick: v.now.Tick, Hash: v.now.Hash, AckedSeq: acked}
	for _, e := range v.now.Entities {
		s.Entities = append(s.Entities, &wire.Entity{Id: e.ID, X: e.X, Y: e.Y, Dir: e.Dir, Hp: e.HP, Score: e.Score})
	}
	return s
}

// delta returns the bits of the state for a client, by the states that it was written last.
func (v *view) delta(c *Client) []byte {
	if radius := v.room.config.Interest; radius > 0 && c.player.id != 0 {
		return v.nearby(c, int32(radius*game.Scale))
	}
	base, before := v.room.history.state(c.base), v.room.history.state(c.before)
	if base == nil || v.room.config.State == "delta" {
		before = nil
	}
	key := encoded{base: tickOf(base), before: tickOf(before)}
	for _, e := range v.deltas[:v.n] {
		if e.base == key.base && e.before == key.before {
			return e.bits
		}
	}
	if v.n == len(v.deltas) {
		v.deltas = append(v.deltas, encoded{})
	}
	e := &v.deltas[v.n]
	v.n++
	e.base, e.before = key.base, key.before
	e.bits = delta.Append(e.bits[:0], v.now, base, before)
	return e.bits
}

// near is what a client sees of the states that it was written last, where it does not see all.
type near struct {
	now, base, before delta.State
	bits              []byte
}

// nearby returns the bits of what a client sees, which are its own.
func (v *view) nearby(c *Client, radius int32) []byte {
	if c.near == nil {
		c.near = new(near)
	}
	n := c.near
	n.now, n.base, n.before = n.before, n.now, n.base
	n.now.Tick, n.now.Entities = v.now.Tick, delta.Near(n.now.Entities[:0], v.now.Entities, c.player.id, radius)
	n.now.Hash = game.Hash(n.now.Entities)
	base, before := &n.base, &n.before
	if base.Tick == 0 || base.Tick != c.base {
		base = nil
	}
	if base == nil || before.Tick == 0 || v.room.config.State == "delta" {
		before = nil
	}
	n.bits = delta.Append(n.bits[:0], &n.now, base, before)
	return n.bits
}

func tickOf(s *delta.State) uint32 {
	if s == nil {
		return 0
	}
	return s.Tick
}
