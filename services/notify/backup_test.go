package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// While notices come, are delivered and trimmed, every backup is a data folder in which nothing is
// missing.
func TestBackupWhileTrimming(t *testing.T) {
	tar, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar in PATH, so no backup can be unpacked")
	}
	choice, err := Assembly().Resolve(assembly.Tuned, map[string]string{"history": "0s", "history_bytes": "0", "dedup_window": "0s", "backoff": "1h", "max_backoff": "1h"})
	if err != nil {
		t.Fatal(err)
	}
	c := FromChoice(choice)
	c.Data, c.AllowPrivate, c.testing.withoutKeeping = t.TempDir(), true, true
	c.testing.openBackend = func(o dispatch.StoreOptions, name string) (wal.Backend, error) {
		return segment.Open(filepath.Join(o.Data, name), segment.Options{SegmentBytes: 1 << 10}) // a few notices
	}
	if err := os.WriteFile(filepath.Join(c.Data, "FORMAT"), []byte("as parts/datadir writes it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer hooks.Close()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	url := hooks.URL
	if _, _, err := d.table.Subscribe(dispatch.SubscriptionRequest{URL: &url}); err != nil {
		t.Fatal(err)
	}
	var acked atomic.Uint64
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	work.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if d.deliverer.Pending.Load() > 200 { // only what is delivered can be trimmed
				runtime.Gosched()
				continue
			}
			receipts, _, err := d.acceptor.Accept(ctx, []*notice.Notice{{ID: fmt.Sprintf("n%d", i), Key: fmt.Sprint(i % 50), Type: "t", Payload: make([]byte, 200)}})
			if err != nil {
				t.Error(err)
				return
			}
			acked.Store(receipts[0].Seq)
		}
	})
	work.Go(func() {
		for ctx.Err() == nil {
			if err := d.maintainer.Save(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	debug := httptest.NewServer(d.backup())
	defer debug.Close()
	for i := range 300 {
		before := acked.Load()
		answer, err := debug.Client().Get(debug.URL)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := io.ReadAll(answer.Body)
		if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %.300s, %v", answer.Status, archive, err)
		}
		if i%20 != 0 {
			continue // what matters is that no file is removed meanwhile
		}
		restored := c
		restored.Data = t.TempDir()
		unpack := exec.Command(tar, "-x", "-C", restored.Data)
		unpack.Stdin = bytes.NewReader(archive)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		checkRestored(t, restored, before)
	}
	if first, _ := d.store.Notices.Bounds(); first == 1 {
		t.Error("nothing was trimmed meanwhile")
	}
	cancel()
	work.Wait()
	if _, err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// checkRestored starts a dispatcher on a backup that was begun when that many notices were
// acknowledged.
func checkRestored(t *testing.T, c Config, before uint64) {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for d.deliverer.Pending.Load() > 0 { // everything can be read, and is delivered
		runtime.Gosched()
	}
	_, err = d.Close(t.Context())
	if s := d.api.Stats(1); err != nil || s.Seq < before || s.Accepted != int64(s.Seq) || s.Delivered != s.Accepted || s.Lost != 0 {
		t.Errorf("%d were acknowledged; restored: %d of %d delivered, up to %d, %d lost, %v", before, s.Delivered, s.Accepted, s.Seq, s.Lost, err)
	}
}

func TestBackupOfAnotherLog(t *testing.T) {
	d, w := &Dispatcher{config: Config{Log: "jetstream"}}, httptest.NewRecorder()
	d.backup().ServeHTTP(w, httptest.NewRequest("GET", "/debug/notify/backup", nil))
	if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), "log=jetstream") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
