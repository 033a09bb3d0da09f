package arena

import (
	"errors"
	"testing"
	"time"

	"dyno/services/arena/room"
)

// A client may send 120 messages a second, and after a stall what it sent meanwhile comes
// together.
func TestCredit(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	open := func() *session {
		return &session{sessions: &sessions{lobby: &lobby{stats: new(room.Stats)}}, credit: 2 * perSecond, began: start}
	}
	send := func(s *session, at time.Duration, n int) (sent int) {
		for ; sent < n; sent++ {
			var why *refusal
			if err := s.count(start.Add(at)); errors.As(err, &why) && why.code == "flood" {
				return sent
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return sent
	}
	if got := send(open(), 0, 1000); got != 2*perSecond {
		t.Errorf("%d messages together", got)
	}
	s := open()
	for at := range 60 {
		if got := send(s, time.Duration(at)*time.Second, perSecond); got != perSecond {
			t.Fatalf("%d messages in second %d", got, at)
		}
	}
	if got := send(s, time.Minute, 1000); got > 2*perSecond {
		t.Errorf("%d messages together, after others", got)
	}
	s = open()
	send(s, 0, 60)
	if got := send(s, 10*time.Second, 600); got != 600 {
		t.Errorf("%d messages after a stall of 10 s", got)
	}
	if got := send(s, 11*time.Second, 1000); got > 2*perSecond {
		t.Errorf("%d messages a second after the stall's", got)
	}
}
