package main

import (
	"net/http/httptest"
	"testing"

	"dyno/services/notify/notifytest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The plain program passes the suite that every assembly of notifyd passes.
func TestSuite(t *testing.T) {
	notifytest.Test(t, func(t testing.TB, l notifytest.Limits) notifytest.Program {
		tight := defaults
		tight.pending, tight.attempts, tight.timeout = l.Pending, l.Attempts, l.Timeout
		tight.backoff, tight.maxBackoff, tight.drain = l.Backoff, l.MaxBackoff, l.Drain
		s := newServer(tight, l.AllowPrivate)
		web := httptest.NewServer(s.handler())
		return notifytest.Program{URL: web.URL, Stop: func() int {
			web.Close()
			return s.close()
		}}
	})
}
