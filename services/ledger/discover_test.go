package ledger

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/services/ledger/ledgertest"
)

// A sync that ends before any server has answered says why, once.
func TestNoServerIsDiscovered(t *testing.T) {
	asked := make(chan struct{}, 1000)
	refuses := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		panic(http.ErrAbortHandler)
	}))
	defer refuses.Close()
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // connections wait to be accepted
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()

	t.Run("all fail", func(t *testing.T) {
		failed := func(patience string) int {
			p := opened(t, map[string]string{"patience": patience}, refuses.URL, refuses.URL+"/2")
			err := p.discover(t.Context())
			if err == nil || strings.Contains(err.Error(), "context") || strings.Count(err.Error(), "no server answers") != 1 {
				t.Errorf("%v", err)
			}
			return strings.Count(fmt.Sprint(err), "gone")
		}
		// In a second a busy machine may not have asked both.
		if n := failed("1s"); n != 2 && failed("20s") != 2 {
			t.Errorf("%d of 2 are reported gone", n)
		}
	})
	t.Run("all hang", func(t *testing.T) {
		p := opened(t, map[string]string{"patience": "1s"}, "http://"+hangs.Addr().String())
		err := p.discover(t.Context())
		if err == nil || err.Error() != "no server answers: "+p.finder().Stalled().Error() {
			t.Errorf("%v", err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		p := opened(t, nil, refuses.URL)
		for len(asked) > 0 {
			<-asked
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			<-asked
			cancel()
		}()
		if err := p.discover(ctx); err != context.Canceled {
			t.Errorf("%v", err)
		}
	})
}

// The command prints one line.
func TestStoppedBeforeDiscovery(t *testing.T) {
	r := ledgertest.NewRelay(t, "http://127.0.0.1:1")
	asked := make(chan struct{}, 1000)
	r.Decide(func(ledgertest.Ask) ledgertest.Verdict {
		asked <- struct{}{}
		return ledgertest.Cut
	})
	p := ledgersync(t, syncing(t.TempDir(), first, last, r.URL)...)
	<-asked
	<-asked
	p.Stop()
	if code := p.Wait(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	var said []string
	for line := range strings.Lines(p.Stderr.String()) {
		if strings.HasPrefix(line, "ledgersync: ") {
			said = append(said, line)
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "ledgersync: sync was ") || !strings.HasSuffix(said[0], " before it was done\n") {
		t.Errorf("it says %q, all of it: %s", said, p.Stderr.String())
	}
}
