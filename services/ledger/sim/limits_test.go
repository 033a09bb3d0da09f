package sim

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/limits"
)

// Limits as clients see them. The clock does not advance.
func TestLimitsOverBothTransports(t *testing.T) {
	const window = 32 // seconds over which a rippled averages costs
	for _, software := range []string{limits.Rippled, limits.Clio} {
		for _, transport := range []string{"http", "ws"} {
			t.Run(software+"/"+transport, func(t *testing.T) {
				s := start(t, small(Config{Limits: software, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}))
				var from caller = overHTTP(t, s)
				if transport == "ws" {
					from = overSocket(t, s)
				}
				addr := "127.0.0.1"
				if software == limits.Rippled {
					s.limiter.Spent(addr, 5000*window-limits.CostRequest, 0) // all but one request of it
				} else {
					s.limiter.Spent(addr, 0, 1_000_000)
				}
				_, body, err := from.call("ledger", full(chain.DefaultFirst, 1))
				if err != nil || parse(t, body).Warning != "load" {
					t.Fatalf("%.300s, %v", body, err)
				}
				if _, err := decode(t, body); err != nil {
					t.Error(err)
				}
				if software == limits.Rippled {
					s.limiter.Spent(addr, 25_000*window, 0)
				}
				status, body, err := from.call("ping", "")
				checkRefusal(t, software, transport, seen{status, body, err})
				if got := s.Injected(); got.Refused != 1 || got.Warned != 1 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func checkRefusal(t *testing.T, software, transport string, got seen) {
	t.Helper()
	ok := false
	switch software + transport {
	case "rippledhttp":
		ok = got.status == 503 && string(got.body) == "Server is overloaded"
	case "rippledws":
		ok = websocket.CloseStatus(got.err) == websocket.StatusPolicyViolation && bytes.Contains([]byte(got.err.Error()), []byte("threshold exceeded"))
	case "cliohttp":
		ok = got.status == 503 && parse(t, got.body).Code == 10 && parse(t, got.body).Error == "slowDown"
	case "cliows":
		ok = got.err == nil && parse(t, got.body).Code == 10 && bytes.Contains(got.body, []byte(`"id":"a1"`))
	}
	if !ok {
		t.Errorf("%d %s, %v", got.status, got.body, got.err)
	}
}

// Connections are counted from their beginning to their end, including WebSockets: with 20 of them
// an address is served by a Clio, with 21 it is not.
func TestConnectionsAreCounted(t *testing.T) {
	var seconds atomic.Int64
	s := start(t, small(Config{Limits: limits.Clio, Now: func() time.Time { return time.Unix(1_800_000_000+seconds.Load(), 0) }}))
	const addr = "127.0.0.1"
	served := func() bool {
		seconds.Add(1) // so that requests are not too many
		return s.limiter.Admit(addr)
	}
	web, socket := overHTTP(t, s), overSocket(t, s)
	for _, from := range []caller{web, socket} {
		if _, _, err := from.call("ping", ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 18 {
		s.limiter.Opened(addr)
	}
	if !served() {
		t.Error("refused with 20 connections")
	}
	for _, end := range []func(){func() { socket.conn.CloseNow() }, web.client.CloseIdleConnections} {
		if s.limiter.Opened(addr); served() {
			t.Error("served with 21 connections")
		}
		end()
		until(t, func() error {
			if !served() {
				return errors.New("a connection that has ended counts")
			}
			return nil
		})
	}
}

// until waits for a condition that is certain to become true.
func until(t testing.TB, check func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for err := check(); err != nil; err = check() {
		if time.Now().After(end) {
			t.Fatal(err)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
		}
	}
}
