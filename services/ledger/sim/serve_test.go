package sim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
)

func TestTLSVersionsAndProtocols(t *testing.T) {
	chain := newChain(t, chain.Spec{Ledgers: 2, Transactions: 1})
	for _, c := range []struct {
		max     uint16
		noHTTP2 bool
		version uint16
		major   int
	}{{0, false, tls.VersionTLS13, 2}, {tls.VersionTLS12, false, tls.VersionTLS12, 2}, {0, true, tls.VersionTLS13, 1}} {
		s := start(t, Config{Chain: chain, SelfSigned: true, MaxTLS: c.max, NoHTTP2: c.noHTTP2})
		a, err := overHTTP(t, s).client.Post(s.URL(), "", strings.NewReader(`{"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.TLS.Version != c.version || a.ProtoMajor != c.major {
			t.Errorf("%+v: TLS %x, HTTP/%d", c, a.TLS.Version, a.ProtoMajor)
		}
	}
}

// Concurrent clients each get their own ledgers, from memory and from the file.
func TestServesManyConcurrently(t *testing.T) {
	for _, memory := range []int64{0, 1} {
		s := start(t, Config{Spec: chain.Spec{Ledgers: 8, Transactions: 20, Memory: memory}})
		web := overHTTP(t, s)
		var work sync.WaitGroup
		for g := range 8 {
			work.Go(func() {
				for i := range 20 {
					index := chain.DefaultFirst + uint32((g+i)%8)
					a, err := fetch(t, web, full(index, 1+i%2))
					if err != nil || a.Index != index || len(a.Transactions) != 20 {
						t.Errorf("ledger %d: %v", index, err)
					}
				}
			})
		}
		work.Wait()
		if got := s.Injected(); got.Answers != 160 || got.Bytes == 0 {
			t.Errorf("%+v", got)
		}
	}
}

// Several requests are in flight over one WebSocket, each answered under its id.
func TestSocketAnswersAsItCan(t *testing.T) {
	s := start(t, small(Config{}))
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := overSocket(t, s)
	for i := range 50 {
		message := fmt.Sprintf(`{"id":%d,"command":"ledger",%s}`, i, full(chain.DefaultFirst+uint32(i%6), 1))
		if err := d.conn.Write(t.Context(), 1, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[int]bool{}
	for range 50 {
		_, body, err := d.conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var id struct{ ID int }
		if err := json.Unmarshal(body, &id); err != nil {
			t.Fatal(err)
		}
		if a, err := decode(t, body); err != nil || a.Index != chain.DefaultFirst+uint32(id.ID%6) || got[id.ID] {
			t.Errorf("answer %d: %v", id.ID, err)
		}
		got[id.ID] = true
	}
}

func TestSocketRefusesNonRequests(t *testing.T) {
	s := start(t, small(Config{}))
	for text, want := range map[string]string{
		"no": "jsonInvalid", "[]": "jsonInvalid", "{}": "missingCommand", `{"command":"ping","api_version":0}`: "invalid_API_version",
	} {
		d := overSocket(t, s)
		if err := d.conn.Write(t.Context(), 1, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, body, err := d.conn.Read(t.Context())
		if err != nil || parse(t, body).Error != want {
			t.Errorf("%s: %s, %v", text, body, err)
		}
	}
}

// Close ends stalled requests, dead connections, and requests for ledgers that are being made.
func TestCloseEndsRequestsInFlight(t *testing.T) {
	s, err := Start(Config{Spec: chain.Spec{Ledgers: 1000, Transactions: 500}, Faults: fault.Rates{fault.Dead: 1}})
	if err != nil {
		t.Fatal(err)
	}
	web, socket := overHTTP(t, s), overSocket(t, s)
	ended := make(chan error, 2)
	go func() {
		_, _, err := web.call("ledger", full(chain.DefaultFirst+999, 1))
		ended <- err
	}()
	go func() {
		_, _, err := socket.conn.Read(t.Context())
		ended <- err
	}()
	until(t, func() error {
		if s.Injected().Faults[fault.Dead].Sent == 0 {
			return fmt.Errorf("there is no connection yet")
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	<-ended
}

// --delay and lateness add up, and a stalled request lasts as long as configured. The clock is
// simulated.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sim{}
		s.ctx, s.stop = context.WithCancel(t.Context())
		begin := time.Now()
		if !s.pause(t.Context(), time.Hour) || time.Since(begin) != time.Hour {
			t.Errorf("paused for %v", time.Since(begin))
		}
		go func() {
			time.Sleep(time.Minute)
			s.stop()
		}()
		begin = time.Now()
		if s.pause(t.Context(), time.Hour) || time.Since(begin) != time.Minute {
			t.Errorf("paused for %v after the end", time.Since(begin))
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{{Software: "x"}, {Limits: "x"}, {Delay: -1}, {Faults: fault.Rates{"x": 1}}, {Listen: "nowhere"}, {Spec: chain.Spec{Ledgers: -1}}} {
		if s, err := Start(c); err == nil {
			t.Errorf("%+v is taken", c)
			s.Close()
		}
	}
}

func TestInjectedOverHTTP(t *testing.T) {
	s := start(t, small(Config{Faults: fault.Rates{fault.Empty: 1}}))
	web := overHTTP(t, s)
	if _, err := fetch(t, web, full(chain.DefaultFirst, 1)); err != nil {
		t.Fatal(err)
	}
	a, err := web.client.Get(s.URL() + "/sim/injected")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var got fault.Injected
	if err := json.NewDecoder(a.Body).Decode(&got); err != nil || got.Faults[fault.Empty].Ledgers[chain.DefaultFirst] != 1 || got.Answers != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
