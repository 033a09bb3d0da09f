package player

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

// got is what a message says.
type got struct {
	welcome bool
	state   bool
	acked   uint32
	refusal string
}

// reader reads messages of the server.
type reader struct {
	bits, decode bool
	decoder      delta.Decoder
	tick         atomic.Uint32 // of the newest state that was decoded
}

var errMessage = errors.New("a message of the server is not of its subprotocol")

func (r *reader) read(message []byte) (got, error) {
	if r.bits {
		switch {
		case len(message) == 0:
			return got{}, errMessage
		case message[0] == delta.Packed:
			return r.packed(message)
		}
		message = message[1:]
	}
	field, kind, n := protowire.ConsumeTag(message)
	if n < 0 || kind != protowire.BytesType {
		return got{}, errMessage
	}
	if field == snapshotField && !r.decode {
		return snapshot(message[n:])
	}
	var f wire.ServerFrame
	if err := f.UnmarshalVT(message); err != nil {
		return got{}, errMessage
	}
	switch body := f.Body.(type) {
	case *wire.ServerFrame_Welcome:
		return got{welcome: true}, nil
	case *wire.ServerFrame_Error:
		return got{refusal: body.Error.GetCode() + ": " + body.Error.GetMessage()}, nil
	case *wire.ServerFrame_Snapshot:
		return r.whole(body.Snapshot)
	}
	return got{}, nil
}

// packed reads a state in bits.
func (r *reader) packed(message []byte) (got, error) {
	if !r.decode {
		acked, n := binary.Uvarint(message[1:])
		if n <= 0 {
			return got{}, errMessage
		}
		return got{state: true, acked: uint32(acked)}, nil
	}
	s, acked, err := r.decoder.Decode(message)
	if err != nil {
		return got{}, err
	}
	r.tick.Store(s.Tick)
	return got{state: true, acked: acked}, nil
}

func (r *reader) whole(s *wire.Snapshot) (got, error) {
	entities := make([]game.Entity, 0, len(s.Entities))
	for _, e := range s.Entities {
		entities = append(entities, game.Entity{ID: e.Id, X: e.X, Y: e.Y, Dir: e.Dir, HP: e.Hp, Score: e.Score})
	}
	if game.Hash(entities) != s.Hash {
		return got{}, errors.New("a state has another hash than its entities")
	}
	r.tick.Store(s.Tick)
	return got{state: true, acked: s.AckedSeq}, nil
}

// Fields of the wire.
const (
	snapshotField = 2
	ackedField    = 2
)

// snapshot finds what a Snapshot acknowledges, which comes before its entities.
func snapshot(b []byte) (got, error) {
	fields, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return got{}, errMessage
	}
	for len(fields) > 0 {
		field, kind, n := protowire.ConsumeTag(fields)
		if n < 0 {
			return got{}, errMessage
		}
		fields = fields[n:]
		if field == ackedField && kind == protowire.VarintType {
			acked, n := protowire.ConsumeVarint(fields)
			if n < 0 {
				return got{}, errMessage
			}
			return got{state: true, acked: uint32(acked)}, nil
		}
		if n = protowire.ConsumeFieldValue(field, kind, fields); n < 0 {
			return got{}, errMessage
		}
		fields = fields[n:]
	}
	return got{state: true}, nil
}
