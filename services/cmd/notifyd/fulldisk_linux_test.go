package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dyno/parts/quicktest"

	"golang.org/x/sys/unix"
)

// A small disk that fills up with delivered notices is free again within seconds, without a
// restart, so that many times what it holds is accepted and delivered. (services/notify has the
// same without a mount, on a disk in memory.)
func TestSmallDisk(t *testing.T) {
	const disk = 16 << 20
	rounds := quicktest.Of(2, 6)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", disk)); err != nil {
		t.Skipf("mounting a tmpfs takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	p := serve(t, dir+"/data", "--allow-private-targets")
	status, answer, err := ask("POST", p.api+"/v1/subscriptions", "application/json", fmt.Sprintf(`{"url":%q,"batch":1000}`, web.URL))
	if err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s, %v", status, answer, err)
	}
	batch := strings.Repeat(`{"key":"k","type":"t","payload":"`+strings.Repeat("x", 1000)+"\"}\n", 200)
	accepted, full := 0, 0
	var since time.Time // when posts began to be refused
	for accepted*len(batch) < rounds*disk {
		r, err := client.Post(p.api+"/v1/notices", "application/x-ndjson", strings.NewReader(batch))
		if err != nil {
			t.Fatalf("%v; it said:\n%s", err, p.output())
		}
		r.Body.Close()
		switch r.StatusCode {
		case http.StatusAccepted:
			accepted++
			since = time.Time{}
			account(t, p) // all of it is delivered
			continue
		case http.StatusInsufficientStorage:
		default:
			t.Fatalf("status %d; it said:\n%s", r.StatusCode, p.output())
		}
		if full++; r.Header.Get("Retry-After") == "" {
			t.Fatal("507 without Retry-After")
		}
		if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > time.Minute {
			t.Fatalf("the disk has been full for a minute, with everything delivered; it said:\n%s", p.output())
		}
		time.Sleep(50 * time.Millisecond) // as a client that was refused should
	}
	t.Logf("%d times the disk were accepted; %d posts were refused", rounds, full)
	p.stop()
}
