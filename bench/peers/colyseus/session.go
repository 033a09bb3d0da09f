package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"dyno/bench/bots/player"
	"dyno/lab/load/sessions"
	"dyno/lab/load/websocket"
	"dyno/services/arena/game"
)

// Codes of Colyseus's messages: the lower five bits of the first byte.
const (
	codeJoin   = 10
	codeError  = 11
	codeData   = 13
	codeState  = 14 // all of it, once
	codePatch  = 15
	codeInput  = 19
	codeBits   = 31
	codeTimed  = 128 // a bit: the server's clock and the last input that it did follow the code
	timedBytes = 1 + 4 + 4
)

// longest is the length of a message that a session reads, in bytes: the whole state of a room is
// 1.5 KB.
const longest = 1 << 20

// commands are an input: two commands of a sixtieth of a second, and where the player aims, in
// 1/256 of a turn.
type commands struct{ first, second, aim byte }

// players opens players' sessions in the rooms of a server.
type players struct {
	client       *http.Client
	server       string // URL
	room, motion string
	rate         float64 // packets a second of each
}

// session is a player in a room. One goroutine sends and one receives.
type session struct {
	conn     *websocket.Conn
	motion   *player.Motion
	messages bool // the room takes messages, and acknowledges none
	packet   []byte
	sent     commands
	began    bool // sent is what the server has
	counted  int64
	acked    uint64
	watch    func() bool
}

var _ sessions.Driver = (*players)(nil)

// Open enters a room, which is one that has a place.
func (p *players) Open(ctx context.Context, i int) (sessions.Session, error) {
	motion, err := player.NewMotion(p.motion, p.rate, i)
	if err != nil {
		return nil, err
	}
	address, err := p.reserve(ctx)
	if err != nil {
		return nil, fmt.Errorf("joining a room: %w", err)
	}
	conn, err := websocket.Dial(ctx, address, nil, nil, longest)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, motion: motion, messages: p.room == "messages"}
	if err := s.greet(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("joining a room: %w", err)
	}
	return s, nil
}

// reserve takes a place in a room, and returns the URL of the player's WebSocket.
func (p *players) reserve(ctx context.Context) (*url.URL, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server+"/matchmake/joinOrCreate/"+url.PathEscape(p.room), bytes.NewReader([]byte("{}")))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	var seat struct{ SessionID, RoomID, ProcessID string }
	if err := json.Unmarshal(body, &seat); err != nil || answer.StatusCode != http.StatusOK || seat.SessionID == "" {
		return nil, errors.Join(fmt.Errorf("%s: %.300s", answer.Status, body), err)
	}
	address, err := url.Parse(p.server)
	if err != nil {
		return nil, err
	}
	address.Scheme, address.Path = "ws", "/"+seat.ProcessID+"/"+seat.RoomID
	address.RawQuery = url.Values{"sessionId": {seat.SessionID}}.Encode()
	return address, nil
}

// greet answers the server's JOIN, after which the server sends the state.
func (s *session) greet(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	for {
		message, err := s.conn.Receive()
		if err != nil {
			return err
		}
		f, err := parse(message)
		switch {
		case err != nil:
			return err
		case f.code == codeJoin:
			s.conn.QueueBinary([]byte{codeJoin})
			if err := s.conn.Flush(); err != nil {
				return err
			}
		case f.code == codeState:
			s.counted = s.conn.BytesIn()
			return nil
		}
	}
}

// Send sends a packet: the server counts them, so their number is not in them. Of inputs it has the
// fields that have changed, as Colyseus's clients do.
func (s *session) Send(context.Context, uint64) error {
	buttons, aim := s.motion.Next()
	c := commands{byte(buttons), byte(buttons), byte(game.Direction(aim))}
	if s.messages {
		s.packet = append(s.packet[:0], codeData, 0xa1, 'i') // a string of one byte names the message
		s.packet = append(s.packet, 0x83, 0xa5, 'f', 'i', 'r', 's', 't', c.first, 0xa6, 's', 'e', 'c', 'o', 'n', 'd', c.second, 0xa3, 'a', 'i', 'm', 0xcc, c.aim)
	} else {
		s.packet = append(s.packet[:0], codeInput)
		for i, field := range [...][2]byte{{s.sent.first, c.first}, {s.sent.second, c.second}, {s.sent.aim, c.aim}} {
			if field[0] != field[1] || !s.began {
				s.packet = append(s.packet, byte(i), field[1])
			}
		}
		s.sent, s.began = c, true
	}
	s.conn.QueueBinary(s.packet)
	return s.conn.Flush()
}

// Receive returns when a state has come. One without changes counts too: when the server is late,
// it makes several steps, and only the first of them has inputs.
func (s *session) Receive(ctx context.Context) (sessions.Received, error) {
	if s.watch == nil {
		s.watch = context.AfterFunc(ctx, func() { s.conn.Close() })
	}
	for {
		message, err := s.conn.Receive()
		if err != nil {
			return sessions.Received{}, err
		}
		f, err := parse(message)
		if err != nil {
			return sessions.Received{}, err
		}
		if f.code != codePatch {
			continue
		}
		r := sessions.Received{Frames: 1, Bytes: int(s.conn.BytesIn() - s.counted)}
		s.counted += int64(r.Bytes)
		if acked := uint64(f.acked); acked > s.acked {
			r.Acked, s.acked = acked, acked
		}
		return r, nil
	}
}

func (s *session) Close() error {
	if s.watch != nil {
		s.watch()
	}
	return s.conn.Close()
}

// frame is what a session reads of a message.
type frame struct {
	code  byte
	acked uint32
}

func parse(message []byte) (frame, error) {
	if len(message) == 0 {
		return frame{}, errors.New("the server sent an empty message")
	}
	f := frame{code: message[0] & codeBits}
	switch {
	case f.code == codeError:
		return f, fmt.Errorf("the server refused: %.100q", message[1:])
	case message[0]&codeTimed == 0:
	case len(message) < timedBytes:
		return f, fmt.Errorf("the server sent a state of %d bytes, which is too short", len(message))
	default:
		f.acked = binary.LittleEndian.Uint32(message[5:])
	}
	return f, nil
}
