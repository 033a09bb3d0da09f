package natstest

import (
	"errors"
	"testing"

	"dyno/parts/quicktest"
)

// ending records how a test was ended.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper()               {}
func (e *ending) Skipf(string, ...any)  { e.how += "skipped" }
func (e *ending) Fatalf(string, ...any) { e.how += "failed"; panic(e) }

// Without a server tests skip, but not when all of them are asked for: CI would pass without them.
func TestWithoutAServer(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", quicktest.Everything: "failed"} {
		t.Setenv(quicktest.Variable, value)
		e := &ending{TB: t}
		func() {
			defer func() { recover() }()
			lacks(e, errors.New("no such tool"))
		}()
		if e.how != want {
			t.Errorf("%s=%s: %s, want %s", quicktest.Variable, value, e.how, want)
		}
	}
}

// A server is in the care of parts/process, which ends it when this process is killed.
func TestServerEnds(t *testing.T) {
	s := Start(t, Options{})
	if s.Port(t) == 0 {
		t.Errorf("no port in %s", s.URL)
	}
	s.Stop()
	s.Stop()
}
