package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// disk is a file on a disk that may be full or broken.
type disk struct {
	*os.File
	mu     sync.Mutex
	room   int // bytes; -1: enough
	broken error
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room >= 0 && len(p) > d.room {
		n, _ := d.File.Write(p[:d.room])
		return n, syscall.ENOSPC
	}
	return d.File.Write(p)
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.broken, d.File.Sync())
}

func (d *disk) set(room int, broken error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room, d.broken = room, broken
}

func intercept(f *lineFile) *disk {
	d := &disk{File: f.file.(*os.File), room: -1}
	f.file = d
	return d
}

func statusOf(err error) int {
	var r *refusal
	errors.As(err, &r)
	if r == nil {
		return 0
	}
	return r.Status
}

// A full disk is answered with 507, leaves nothing behind, and is over when there is room again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, tight())
	define(t, s)
	full := intercept(s.log)
	if err := post(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	full.set(10, nil)
	if err := post(t, s, "b", "c"); statusOf(err) != http.StatusInsufficientStorage || !strings.Contains(err.Error(), "no space") {
		t.Errorf("on a full disk: %v", err)
	}
	w := httptest.NewRecorder()
	if answerError(w, refuseDisk(syscall.ENOSPC)); w.Code != http.StatusInsufficientStorage || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d, headers %v", w.Code, w.Header())
	}
	full.set(-1, nil)
	if err := post(t, s, "c"); err != nil {
		t.Errorf("with room again: %v", err)
	}
	s.close(0)
	s = open(t, dir, tight())
	defer s.close(0)
	if got := strings.Join(pendingIDs(s), " "); got != "a c" || s.seq != 2 {
		t.Errorf("after a restart: %s, last number %d", got, s.seq)
	}
}

// Settlements that find no room wait and are written when there is some.
func TestSettlementsWaitForRoom(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, tight())
	define(t, s)
	full := intercept(s.journal)
	if err := post(t, s, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	for seq := range uint64(3) {
		full.set([]int{5, 0, -1}[seq], nil)
		s.record(event{Do: delivered, Sub: "sub_1", Seq: seq + 1, Tries: 1})
	}
	s.mu.Unlock()
	s.close(0)
	text, err := os.ReadFile(filepath.Join(statePath(dir, 1), journalName))
	if err != nil || bytes.Count(text, []byte(`"do":"delivered"`)) != 3 {
		t.Errorf("%v, %s", err, text)
	}
	s = open(t, dir, tight())
	defer s.close(0)
	if got := pendingIDs(s); len(got) != 0 {
		t.Errorf("after a restart: %v", got)
	}
}

// After a failed fsync nothing is taken any more: what is on the disk is not known.
func TestBrokenDisk(t *testing.T) {
	s := open(t, t.TempDir(), tight())
	defer s.close(0)
	broken := intercept(s.log)
	broken.set(-1, syscall.EIO)
	if err := post(t, s, "a"); statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("fsync failed: %v", err)
	}
	broken.set(-1, nil)
	if err := post(t, s, "b"); statusOf(err) != http.StatusServiceUnavailable || s.seq != 0 {
		t.Errorf("after a failed fsync: %v", err)
	}
}

// The bounds are exact: what fits is taken, what does not is refused as a whole, and what can never fit is
// told apart.
func TestBounds(t *testing.T) {
	l := tight()
	l.pending, l.letters = 5, 2
	s := open(t, t.TempDir(), l)
	defer s.close(0)
	define(t, s)
	for _, step := range []struct {
		ids  []string
		want int
	}{
		{[]string{"a", "b", "c"}, 0},
		{[]string{"d", "e", "f"}, http.StatusTooManyRequests},
		{[]string{"d", "e"}, 0},
		{[]string{"f"}, http.StatusTooManyRequests},
		{[]string{"a"}, 0}, // it is there already
		{[]string{"1", "2", "3", "4", "5", "6"}, http.StatusRequestEntityTooLarge},
	} {
		if got := statusOf(post(t, s, step.ids...)); got != step.want {
			t.Errorf("%v: %d, want %d", step.ids, got, step.want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs["sub_1"]
	s.disable(sub, "for a test")
	if sub.Refused != 10 || sub.Dead != 5 || sub.Purged != 3 || len(sub.letters) != 2 || sub.letters[0].Notice.ID != "d" || s.bytes != 0 || s.letterBytes != sub.letters[0].Notice.size()*2 {
		t.Errorf("%+v, %d letters, %d and %d bytes", sub.counts, len(sub.letters), s.bytes, s.letterBytes)
	}
}

// FuzzNotice holds that no text makes the parser panic, and that what it takes is delivered as JSON.
func FuzzNotice(f *testing.F) {
	for _, text := range []string{`{"id":"a","key":"k","type":"t","payload":{"a":[1]}}`, `{"key":"","type":"t"}`, `{"key":"k","type":"t"} x`, `[`, "{\"key\":\"\xff\",\"type\":\"t\"}", "\n\n{}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parseBatch(text); err != nil && statusOf(err) == 0 {
			t.Errorf("%v has no status", err)
		}
		n, bad := parseNotice(text, "")
		if bad != nil {
			return
		}
		body, err := n.body()
		if err != nil || !bytes.Contains(body, n.Payload) || !json.Valid(body) {
			t.Errorf("%q became %q, %v", text, body, err)
		}
	})
}
