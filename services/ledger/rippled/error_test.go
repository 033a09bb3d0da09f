package rippled

import (
	"errors"
	"testing"
)

// The e of a socket is that of all who waited on it: what each is told is its own.
func TestTroubleIsOnesOwn(t *testing.T) {
	s := open(t, Config{URL: "ws://user:secret@127.0.0.1:1"})
	of := Error{Code: SlowDown, Err: errors.New("closed, secret and all")}
	shared := of
	one, two := s.asError(&shared, nil), s.asError(&shared, nil)
	if shared != of {
		t.Errorf("what all see was changed to %v", &shared)
	}
	for _, err := range []error{one, two} {
		if got := want(t, err, SlowDown); got == &shared || got.Server != s.Name() || got.Err.Error() != "closed, *** and all" {
			t.Errorf("one is told %v", got)
		}
	}
	if one == two {
		t.Error("two are told the same, which both may change")
	}
}
