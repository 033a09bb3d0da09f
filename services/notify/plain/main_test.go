package main

import (
	"net/http/httptest"
	"testing"

	"dyno/services/notify/notifytest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, dir string, l notifytest.Limits) notifytest.Program {
	tight := defaults
	tight.pending, tight.attempts, tight.timeout, tight.overlap = l.Pending, l.Attempts, l.Timeout, l.Overlap
	tight.backoff, tight.maxBackoff, tight.drain = l.Backoff, l.MaxBackoff, l.Drain
	s, err := newServer(dir, tight, l.AllowPrivate)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	return notifytest.Program{
		URL: web.URL,
		Stop: func() int {
			web.Close()
			return s.close(l.Drain)
		},
		Kill: func() {
			s.stop()
			s.workers.Wait() // nothing is settled from here on
			web.CloseClientConnections()
			web.Close()
			s.close(0)
		},
	}
}

// The plain program passes the suite that every assembly of notifyd passes.
func TestSuite(t *testing.T) { notifytest.Test(t, start) }
