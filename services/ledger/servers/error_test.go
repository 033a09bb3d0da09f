package servers

import (
	"errors"
	"testing"

	"dyno/services/ledger/servers/response"
)

// A socket's error is shared by all waiting callers: each gets a copy of its own.
func TestErrorIsCopied(t *testing.T) {
	s := open(t, Config{URL: "ws://user:secret@127.0.0.1:1"})
	of := response.Error{Code: response.SlowDown, Err: errors.New("closed, secret and all")}
	shared := of
	one, two := s.asError(&shared, nil), s.asError(&shared, nil)
	if shared != of {
		t.Errorf("the shared error was changed to %v", &shared)
	}
	for _, err := range []error{one, two} {
		if got := want(t, err, response.SlowDown); got == &shared || got.Server != s.Name() || got.Err.Error() != "closed, *** and all" {
			t.Errorf("one caller got %v", got)
		}
	}
	if one == two {
		t.Error("two callers got the same value, which both may change")
	}
}
