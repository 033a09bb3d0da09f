package arena

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/arena/room"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

// pipes is a listener of connections in a bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// polled is a socket that a room can read in a bubble, where no system call is.
type polled struct {
	socket.Socket
	deadline atomic.Pointer[time.Time]
	polling  atomic.Bool
}

func (p *polled) SetReadDeadline(at time.Time) {
	if p.deadline.Store(&at); !p.polling.Load() {
		p.Socket.SetReadDeadline(at)
	}
}

func (p *polled) Poll(_ []byte, take func([]byte) error) error {
	for take != nil {
		p.polling.Store(true)
		now := time.Now()
		if !now.Before(*p.deadline.Load()) {
			return os.ErrDeadlineExceeded
		}
		p.Socket.SetReadDeadline(now.Add(time.Microsecond))
		message, err := p.Read()
		if os.IsTimeout(err) {
			return nil
		}
		if err == nil {
			err = take(message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func tick(w http.ResponseWriter, r *http.Request, o socket.Options) (socket.Socket, error) {
	s, err := socket.Frames(w, r, o)
	return &polled{Socket: s}, err
}

// quiet is a client that has joined.
type quiet struct {
	conn    net.Conn
	answers bool // pings
	mu      sync.Mutex
	ended   time.Duration // after the Join; 0: not yet
}

func (q *quiet) write(op byte, payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frame := append([]byte{0x80 | op, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
	q.conn.Write(frame) // which fails after the end
}

func (q *quiet) send(f *wire.ClientFrame) {
	message, err := f.MarshalVT()
	if err != nil {
		panic(err)
	}
	q.write(2, message)
}

// read reads until the connection ends.
func (q *quiet) read() {
	began := time.Now()
	defer func() {
		q.conn.Close()
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ended = time.Since(began)
	}()
	from := bufio.NewReader(q.conn)
	for line := ""; line != "\r\n"; line, _ = from.ReadString('\n') {
	}
	for {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:2]); err != nil {
			return
		}
		n := int(head[1])
		if n == 126 {
			if _, err := io.ReadFull(from, head[2:]); err != nil {
				return
			}
			n = int(binary.BigEndian.Uint16(head[2:]))
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(from, payload); err != nil {
			return
		}
		switch op := head[0] & 15; {
		case op == 8:
			return
		case op == 9 && q.answers:
			q.write(10, payload)
		}
	}
}

// A client that answers pings or sends a message is there; one that does neither for a minute is
// cut off soon after. This is so for each socket and each way to read it.
func TestSilence(t *testing.T) {
	for name, variant := range map[string]struct {
		accept socket.Accept
		read   string
	}{
		"frames": {socket.Frames, "goroutine"}, "frames in the tick": {tick, "tick"}, "coder": {socket.Coder, "goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Config{Config: room.Config{State: "shared", Write: "merged", Read: variant.read}, MaxConnections: 9}
				l := newLobby(c, &room.Stats{Lateness: func(time.Duration) {}}, slog.New(slog.DiscardHandler))
				all := &sessions{lobby: l, accept: variant.accept, open: map[*session]bool{}, owner: func(string) string { return "" }}
				listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				server := &http.Server{Handler: all}
				var running sync.WaitGroup
				running.Go(func() { server.Serve(listener) })
				l.running.Go(all.run)
				open := func(answers bool) *quiet {
					ours, theirs := net.Pipe()
					listener.conns <- theirs
					q := &quiet{conn: ours, answers: answers}
					running.Go(q.read)
					fmt.Fprintf(ours, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
						"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", wire.Proto)
					synctest.Wait()
					q.send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{}}})
					return q
				}
				answers, sends, silent := open(true), open(false), open(false)
				time.Sleep(10 * time.Second)
				silent.send(&wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: 1}}})
				for range 5 {
					time.Sleep(50 * time.Second) // the last one was 59.9 s ago
					sends.send(&wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{}}})
					time.Sleep(9900 * time.Millisecond)
				}
				for who, q := range map[string]*quiet{"answers": answers, "sends": sends} {
					if q.ended != 0 {
						t.Errorf("one that %s is cut off after %v", who, q.ended)
					}
				}
				if s := silent.ended - 10*time.Second; s < silence || s > silence+beat {
					t.Errorf("one that does neither is cut off after %v", s)
				}
				l.close()
				server.Close()
				running.Wait()
			})
		})
	}
}
