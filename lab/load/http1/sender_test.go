package http1

import (
	"testing"
	"time"

	"dyno/lab/load"
)

// deaf is a back end in which no handshake ever completes.
type deaf struct{ backend }

func (deaf) close(*conn)        {}
func (deaf) send(*conn, []byte) {}

// A handshake that timed out, for example because of a full accept queue, fails no younger request:
// another connection may still carry that one.
func TestHandshakeTimesOutAlone(t *testing.T) {
	for name, sending := range map[string]bool{"open": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			const now = int64(time.Hour)
			s := &sender{back: deaf{}, plan: &load.Plan{Timeout: time.Second}, depth: 1, now: now,
				conns: []conn{{state: connecting, since: now - int64(time.Second)}}, connecting: 1, sending: sending}
			s.queue.push(due{intended: now - int64(time.Millisecond)})
			s.expire()
			if s.queue.len != 1 || s.conns[0].state != down || s.connecting != 0 {
				t.Errorf("%d requests wait, connection in state %d, %d handshakes", s.queue.len, s.conns[0].state, s.connecting)
			}
		})
	}
}
