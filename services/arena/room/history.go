package room

import (
	"slices"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
)

const (
	kept     = game.Hz     // states as they are; a client with an older one receives a full state
	seconds  = 10          // of which there is every state
	perGroup = game.Hz     // states
	groups   = seconds + 1 // one of them is being written
)

// history is the states of a room: the newest as they are, from which deltas start, and all of the
// last seconds as bits, which take a hundredth of the memory. The room's lock guards it.
type history struct {
	states [kept]delta.State // by tick
	groups [groups]group     // by tick / perGroup
}

// group is states one after another: the first is full.
type group struct {
	bits  []byte // each as in a message
	ends  []int  // of the states in bits
	first uint32
}

// next returns the state to fill for a tick.
func (h *history) next(tick uint32) *delta.State {
	s := &h.states[tick%kept]
	s.Tick, s.Entities = tick, s.Entities[:0]
	return s
}

// state returns one of the newest states; nil: it is not there.
func (h *history) state(tick uint32) *delta.State {
	if s := &h.states[tick%kept]; tick != 0 && s.Tick == tick {
		return s
	}
	return nil
}

// keep adds the state that was filled.
func (h *history) keep(s *delta.State) {
	g := &h.groups[s.Tick/perGroup%groups]
	base, before := h.state(s.Tick-1), h.state(s.Tick-2)
	if s.Tick/perGroup != g.first/perGroup || len(g.ends) == 0 {
		g.bits, g.ends, g.first, base = g.bits[:0], g.ends[:0], s.Tick, nil
	}
	if base == nil || s.Tick-g.first < 2 {
		before = nil
	}
	g.bits = delta.Append(append(g.bits, delta.Packed, 0), s, base, before)
	g.ends = append(g.ends, len(g.bits))
}

// find returns a copy of a state of the last seconds.
func (h *history) find(tick uint32) (delta.State, bool) {
	g := &h.groups[tick/perGroup%groups]
	if tick < g.first || tick-g.first >= uint32(len(g.ends)) {
		return delta.State{}, false
	}
	var d delta.Decoder
	begin := 0
	for i, end := range g.ends[:tick-g.first+1] {
		s, _, err := d.Decode(g.bits[begin:end])
		if err != nil {
			return delta.State{}, false
		}
		if begin = end; i == int(tick-g.first) {
			return delta.State{Tick: s.Tick, Hash: s.Hash, Entities: slices.Clone(s.Entities)}, true
		}
	}
	return delta.State{}, false
}
