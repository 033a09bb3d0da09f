package testchain_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// A node that refuses once, for now or one call of an array, is asked in arrays again.
func TestForkRefusedOnce(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	var requests, status atomic.Int64
	var refuses atomic.Bool
	at, end := up.serve(func(method string, a answer) {
		if refuses.CompareAndSwap(true, false) {
			failing(method, -32005)(method, a)
		}
	})
	defer end()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if s := status.Swap(0); s != 0 {
			w.WriteHeader(int(s))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer gateway.Close()
	s := open(t, t.TempDir()).client()
	defer s.close()
	s.contains(s.forkOf(gateway.URL), "null")
	asks := func(of, says string, want int64) {
		t.Helper()
		requests.Store(0)
		s.contains(s.ask("eth_getBalance", `["0x00000000000000000000000000000000000000`+of+`","latest"]`), says)
		if n := requests.Load(); n != want {
			t.Errorf("%d requests, want %d", n, want)
		}
	}
	for _, now := range []int64{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		status.Store(now)
		asks("d0", "try again later", 1)
	}
	asks("d0", `"0x0"`, 1)
	refuses.Store(true)
	asks("d1", `"0x0"`, 4) // all three calls, then each by its own
	asks("d2", `"0x0"`, 1)
}

// A transaction that another node has since it took the forked block back is none of this chain.
func TestForkTakenBack(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	first := up.send(1)
	up.want(`"0x0"`, "evm_snapshot")
	up.send(2)
	at, end := up.serve()
	defer end()
	s := open(t, t.TempDir()).client()
	defer s.close()
	s.contains(s.forkOf(at), "null")
	up.want("true", "evm_revert", "0x0")
	hash := up.send(3)
	up.contains(up.ask("eth_getTransactionByHash", `["`+hash.Hex()+`"]`), `"blockNumber":"0x2"`)
	for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt", "debug_getRawTransaction"} {
		if got := s.ask(method, `["`+hash.Hex()+`"]`); got != "null" && got != `"0x"` {
			t.Errorf("%s: %s", method, got)
		}
	}
	s.contains(s.ask("eth_getTransactionByHash", `["`+first.Hex()+`"]`), `"blockNumber":"0x1"`)
}
