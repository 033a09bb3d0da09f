package delta

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

// Framed is the first byte of a message of arena.v1.bits whose rest is a ServerFrame.
const Framed = 0

// longest is the length that a message has at most, in bytes.
const longest = 1 << 20

// Lines reads the messages that a client of arena.v1.bits received, each behind its length (uint32,
// lowest byte first), and writes a line of JSON for each state: its tick and its entities. Frames
// without a state have no line.
func Lines(in io.Reader, out io.Writer) error {
	var d Decoder
	return lines(in, out, func(message []byte) (*State, error) {
		if len(message) > 0 && message[0] == Framed {
			return snapshot(message[1:])
		}
		s, _, err := d.Decode(message)
		return s, err
	})
}

// SnapshotLines is Lines for arena.v1.proto, of which each message is a ServerFrame.
func SnapshotLines(in io.Reader, out io.Writer) error { return lines(in, out, snapshot) }

// snapshot returns the state of a ServerFrame; nil: it has none.
func snapshot(frame []byte) (*State, error) {
	var f wire.ServerFrame
	if err := f.UnmarshalVT(frame); err != nil {
		return nil, fmt.Errorf("it is not a ServerFrame: %w", err)
	}
	from := f.GetSnapshot()
	if from == nil {
		return nil, nil
	}
	s := &State{Tick: from.Tick, Hash: from.Hash, Entities: make([]game.Entity, 0, len(from.Entities))}
	for _, e := range from.Entities {
		s.Entities = append(s.Entities, game.Entity{ID: e.Id, X: e.X, Y: e.Y, Dir: e.Dir, HP: e.Hp, Score: e.Score})
	}
	return s, nil
}

func lines(in io.Reader, out io.Writer, decode func(message []byte) (*State, error)) error {
	from, to := bufio.NewReader(in), bufio.NewWriter(out)
	var message []byte
	for number, at := 1, int64(0); ; number++ {
		var err error
		if message, err = next(from, message); err == io.EOF {
			return to.Flush()
		}
		var s *State
		if err == nil {
			s, err = decode(message)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("message %d, at byte %d: %w", number, at, err), to.Flush())
		}
		if s != nil {
			if err := writeLine(to, s); err != nil {
				return err
			}
		}
		at += int64(4 + len(message))
	}
}

// next reads a message into a buffer; io.EOF: there is none.
func next(from io.Reader, buffer []byte) ([]byte, error) {
	var head [4]byte
	if n, err := io.ReadFull(from, head[:]); err == io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("its length ends after %d of 4 bytes", n)
	} else if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > longest {
		return nil, fmt.Errorf("its length is %d, above %d: is each message behind its length as uint32, lowest byte first?", length, longest)
	}
	if int(length) > cap(buffer) {
		buffer = make([]byte, length)
	}
	if n, err := io.ReadFull(from, buffer[:length]); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("it ends after %d of %d bytes", n, length)
	} else if err != nil {
		return nil, err
	}
	return buffer[:length], nil
}

type entityLine struct {
	ID    uint32 `json:"id"`
	X     int32  `json:"x"`
	Y     int32  `json:"y"`
	Dir   uint32 `json:"dir"`
	HP    uint32 `json:"hp"`
	Score uint32 `json:"score"`
}

func writeLine(to io.Writer, s *State) error {
	line := struct {
		Tick     uint32       `json:"tick"`
		Entities []entityLine `json:"entities"`
	}{s.Tick, make([]entityLine, 0, len(s.Entities))}
	for _, e := range s.Entities {
		line.Entities = append(line.Entities, entityLine(e))
	}
	return json.NewEncoder(to).Encode(line)
}
