package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/refusal"
)

// tight are limits under which nothing is delivered: no server listens at the subscription's
// address, and the second attempt is an hour away.
func tight() limits {
	l := defaults
	l.backoff, l.maxBackoff = 2*time.Hour, 2*time.Hour
	return l
}

func open(t *testing.T, dir string, l limits) *server {
	t.Helper()
	s, err := newServer(dir, l, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func post(s *server, ids ...string) error {
	var ns []*notice
	for _, id := range ids {
		ns = append(ns, &notice{ID: id, Key: "k", Type: "t", Payload: []byte("1")})
	}
	_, _, _, err := s.accept(ns)
	return err
}

// pending lists the ids that wait, in order.
func pending(s *server) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		for _, l := range sub.lanes {
			for _, it := range l.items {
				out = append(out, it.notice.ID)
			}
		}
	}
	return out
}

// written makes a folder with one subscription and three posts.
func written(t *testing.T) (dir string) {
	dir = t.TempDir()
	s := open(t, dir, tight())
	s.mu.Lock()
	s.record(event{Do: put, Change: &subscription{ID: "sub_1", URL: "http://127.0.0.1:1/", Secret: make([]byte, 32)}})
	s.mu.Unlock()
	for _, ids := range [][]string{{"a"}, {"b", "c"}, {"d"}} {
		if err := post(s, ids...); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	return dir
}

func change(t *testing.T, path string, how func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, how(text), 0o640)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A start cuts off half a line, which a process that died left, and goes on behind the whole ones.
func TestTornLine(t *testing.T) {
	for _, cut := range []int{1, 5} {
		dir := written(t)
		change(t, filepath.Join(dir, "notices.jsonl"), func(text []byte) []byte { return text[:len(text)-cut] })
		for _, want := range []string{"[a b c]", "[a b c e]"} {
			s := open(t, dir, tight())
			if got := fmt.Sprint(pending(s)); got != want {
				t.Errorf("without the last %d bytes: %s, want %s", cut, got, want)
			}
			if err := post(s, "e"); err != nil {
				t.Error(err)
			}
			s.close()
		}
	}
}

// A damaged line with others behind it stops a start: what was acknowledged would be lost silently.
func TestDamage(t *testing.T) {
	for file, damage := range map[string]func([]byte) []byte{
		"notices.jsonl": func(text []byte) []byte { return slices.Replace(text, 10, 11, 0) },
		"journal.jsonl": func(text []byte) []byte { return append([]byte("x"), text...) },
	} {
		dir := written(t)
		change(t, filepath.Join(dir, file), damage)
		if _, err := newServer(dir, tight(), true); err == nil || !strings.Contains(err.Error(), file+", the line at byte 0 is damaged") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestFolderIsTaken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, tight())
	defer s.close()
	if _, err := newServer(dir, tight(), true); err == nil || !strings.Contains(err.Error(), "no other process") {
		t.Errorf("a second server over the same folder: %v", err)
	}
	if _, err := newServer(filepath.Join(dir, "LOCK"), tight(), true); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a file for a folder: %v", err)
	}
}

// After a failed write nothing is taken any more, since the end of the file is unknown, until the
// next start.
func TestBrokenDisk(t *testing.T) {
	dir := written(t)
	s := open(t, dir, tight())
	s.log.file.Close()
	for range 2 {
		if err := post(s, "e"); !errors.Is(err, os.ErrClosed) || s.seq != 4 {
			t.Errorf("without a file: %v", err)
		}
	}
	s.close()
	s = open(t, dir, tight())
	defer s.close()
	if err := post(s, "e"); err != nil || s.seq != 5 {
		t.Errorf("after a restart: %v", err)
	}
}

// The bounds are exact: what fits is taken, and what does not is refused as a whole.
func TestBounds(t *testing.T) {
	l := tight()
	l.pending = 9
	s := open(t, written(t), l)
	defer s.close()
	for _, step := range []struct {
		ids  string
		want int
	}{{"e f g", 0}, {"h i j", 429}, {"h i", 0}, {"j", 429}, {"e", 0}} {
		refused := &refusal.Error{}
		if errors.As(post(s, strings.Fields(step.ids)...), &refused); refused.Status != step.want {
			t.Errorf("%s: %d, want %d", step.ids, refused.Status, step.want)
		}
	}
}

func TestSeenIsBounded(t *testing.T) {
	s := seen{by: map[string]seenID{}}
	for i := range uint64(maxSeen + 3) {
		s.add(seenID{id: fmt.Sprint(i), seq: i})
	}
	if _, known := s.by["2"]; known || len(s.by) != maxSeen || len(s.ring) != maxSeen {
		t.Errorf("%d ids", len(s.by))
	}
}

// FuzzRead holds that no file makes a start panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"seq":1,"id":"a","key":"k","type":"t","payload":"MQ==","to":["s","s"]},{"seq":2,"to":["s"]}]`+"\n"),
		[]byte(`{"do":"put","change":{"id":"s"}}`+"\n"+`{"do":"failed","at":2,"sub":"s","seq":1,"tries":2}`+"\n"+`{"do":"died","at":2,"sub":"s","seq":1}`+"\n"))
	f.Add([]byte("[null]\n"), []byte(`{"do":"put"}`+"\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, log, journal []byte) {
		s := &server{subs: map[string]*subscription{}, seen: seen{by: map[string]seenID{}}}
		for name, text := range map[string][]byte{"notices.jsonl": log, "journal.jsonl": journal} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		if s.open(dir) == nil {
			s.log.file.Close()
			s.journal.file.Close()
		}
		s.lock.Close()
	})
}

// FuzzNotice holds that no text makes the parser panic, and that what it takes is delivered as
// JSON.
func FuzzNotice(f *testing.F) {
	for _, text := range []string{`{"id":"a","key":"k","type":"t","payload":{"a":[1]}}`, `{"key":"","type":"t"}`, `{"key":"k","type":"t"} x`, `[`, "{\"key\":\"\xff\",\"type\":\"t\"}", "\n\n{}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := parseNotice(text)
		if err != nil {
			return
		}
		if body := n.body(); !bytes.Contains(body, n.Payload) || !json.Valid(body) {
			t.Errorf("%q became %q", text, body)
		}
	})
}
