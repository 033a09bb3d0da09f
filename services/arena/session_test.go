package arena

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"dyno/services/arena/room"
	"dyno/services/arena/wire"
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

// Bytes of a client never make the decoder panic, and a message that is used again has nothing of
// the one before it.
func FuzzDecode(f *testing.F) {
	last := &wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Commands: []*wire.Command{{Seq: 1}, {}, {Buttons: 3}}}}}
	text, err := last.MarshalVT()
	if err != nil {
		f.Fatal(err)
	}
	full := &wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: 9, AckTick: 9, Commands: []*wire.Command{
		{Seq: 9, Buttons: 9, Aim: -9, ViewTick: 9}, {Seq: 9, Buttons: 9, Aim: -9, ViewTick: 9}, {Seq: 9, Buttons: 9, Aim: -9, ViewTick: 9},
	}}}}
	for _, body := range []*wire.ClientFrame{full, last, {Body: &wire.ClientFrame_Join{Join: &wire.Join{Name: "ada", Resume: "x"}}}, {Body: &wire.ClientFrame_Leave{}}} {
		seed, err := body.MarshalVT()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all := &sessions{lobby: &lobby{stats: new(room.Stats)}}
		s := &session{sessions: all, credit: 10, began: time.Now()}
		_, _ = s.decode(b, s.began)
		s.in.ResetVT()
		if got, err := s.decode(text, s.began); err != nil || !proto.Equal(got, last) {
			t.Errorf("%v, %v after %x", got, err, b)
		}
		s.in.ResetVT()
	})
}
