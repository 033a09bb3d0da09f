package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"dyno/parts/daemon"
)

// calls is how many goroutines 20 calls leave.
func calls(fixed bool) int64 {
	w := &watched{next: http.NotFoundHandler(), log: slog.New(slog.DiscardHandler), fixed: fixed}
	for range 20 {
		w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
	}
	if fixed {
		synctest.Wait()
	}
	return w.left.Load()
}

func TestLeaksWhatItSays(t *testing.T) {
	if left := calls(false); left != 20 {
		t.Errorf("20 calls leave %d goroutines", left)
	}
	synctest.Test(t, func(t *testing.T) {
		if left := calls(true); left != 0 {
			t.Errorf("--fixed: 20 calls leave %d goroutines", left)
		}
	})
}

func TestRefusesBeyondItsBound(t *testing.T) {
	w := &watched{}
	w.left.Store(mostLeft)
	to := httptest.NewRecorder()
	if w.ServeHTTP(to, httptest.NewRequest("POST", "/", nil)); to.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", to.Code)
	}
}

func TestNeedsNetHTTP(t *testing.T) {
	var stderr strings.Builder
	args := []string{"serve", "--listen=127.0.0.1:0", "--data=" + t.TempDir(), "--watch=leaking"}
	if code := daemon.Run(context.Background(), service(), args, func(string) (string, bool) { return "", false }, io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), "transport=net") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
