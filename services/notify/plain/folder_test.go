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
)

// tight are limits under which nothing is delivered by itself: there is nobody at that address, and the
// second attempt is an hour away.
func tight() limits {
	l := defaults
	l.backoff, l.maxBackoff = 1<<42, 1<<42 // 73 minutes
	return l
}

const nobody = "http://127.0.0.1:1/"

func open(t *testing.T, dir string, l limits) *server {
	t.Helper()
	s, err := newServer(dir, l, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func post(t *testing.T, s *server, ids ...string) error {
	t.Helper()
	var ns []*notice
	for _, id := range ids {
		ns = append(ns, &notice{ID: id, Key: "k", Type: "t", Payload: []byte("1")})
	}
	_, _, _, err := s.accept(ns)
	return err
}

func define(t *testing.T, s *server) {
	t.Helper()
	s.changes.Lock()
	defer s.changes.Unlock()
	if err := s.commit(event{Do: put, Change: &definition{ID: "sub_1", URL: nobody, Batch: 1, Secrets: []secret{{Key: make([]byte, 32)}}}}); err != nil {
		t.Fatal(err)
	}
}

// pendingIDs lists what a subscription is to get, in order.
func pendingIDs(s *server) (out []string) {
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

// written makes a folder with three posts in it and returns the path of its state.
func written(t *testing.T) (dir, state string) {
	dir = t.TempDir()
	s := open(t, dir, tight())
	define(t, s)
	for _, ids := range [][]string{{"a"}, {"b", "c"}, {"d"}} {
		if err := post(t, s, ids...); err != nil {
			t.Fatal(err)
		}
	}
	s.close(0)
	return dir, statePath(dir, 1)
}

// What a dying process or machine left half written is left out; what was acknowledged is there.
func TestTornLastLine(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":                 func(text []byte) []byte { return text[:len(text)-5] },
		"no end":              func(text []byte) []byte { return text[:len(text)-1] },
		"zeros":               func(text []byte) []byte { return append(text[:len(text)-20], make([]byte, 100)...) },
		"zeros behind a line": func(text []byte) []byte { return append(text[:len(text)-20], "\n\x00\x00\n\x00\n"...) },
		"garbage":             func(text []byte) []byte { return append(text[:len(text)-20], "\xff\x01\n7\nnull\n\n{\n[1]\n\"t"...) },
		"not begun":           func(text []byte) []byte { return text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1] },
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := written(t)
			change(t, filepath.Join(state, logName), damage)
			for _, start := range []string{"first", "second"} {
				s := open(t, dir, tight())
				if got := pendingIDs(s); !slices.Equal(got, []string{"a", "b", "c"}) || s.seq != 3 {
					t.Errorf("at the %s start: %v, last number %d", start, got, s.seq)
				}
				s.close(0)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 2 {
				t.Errorf("the folder holds %v, %v", left, err)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for _, test := range []struct {
		file, wants string
		damage      func([]byte) []byte
	}{
		{logName, "notices.jsonl, line 2 is damaged", func(text []byte) []byte {
			lines := bytes.SplitAfter(text, []byte("\n"))
			lines[1] = append([]byte{'x'}, lines[1]...)
			return bytes.Join(lines, nil)
		}},
		{logName, "notices.jsonl, line 2 is damaged", func(text []byte) []byte {
			lines := bytes.SplitAfter(text, []byte("\n"))
			clear(lines[1]) // a block that is lost, and what came later is there
			return bytes.Join(lines, nil)
		}},
		{journalName, "journal.jsonl, line 1 is damaged", func(text []byte) []byte { return append([]byte("\x00"), text...) }},
		{journalName, `"put" says too little`, func(text []byte) []byte { return append([]byte(`{"do":"put","at":0}`+"\n"), text...) }},
	} {
		dir, state := written(t)
		change(t, filepath.Join(state, test.file), test.damage)
		if _, err := newServer(dir, tight(), true); err == nil || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%v, want %q", err, test.wants)
		}
		if _, err := os.Stat(filepath.Join(state, test.file)); err != nil {
			t.Errorf("the damaged file: %v", err)
		}
	}
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

func TestFolderIsTaken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, tight())
	if _, err := newServer(dir, tight(), true); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second server over the same folder: %v", err)
	}
	s.close(0)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := newServer(other, tight(), true); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a folder with something else in it: %v", err)
	}
	if _, err := newServer(filepath.Join(other, "thesis.tex"), tight(), true); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a file for a folder: %v", err)
	}
}

// More zeros than a line may have bytes are a torn tail too.
func TestHugeTornTail(t *testing.T) {
	dir, state := written(t)
	path := filepath.Join(state, journalName)
	change(t, path, func(text []byte) []byte { return append(text, `{"do":`...) })
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()+maxLine+1)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, tight())
	defer s.close(0)
	if got := pendingIDs(s); len(got) != 4 {
		t.Errorf("pending %v", got)
	}
}

// A start that was interrupted while it rewrote the state has changed nothing.
func TestInterruptedStart(t *testing.T) {
	dir, _ := written(t)
	if err := os.Mkdir(statePath(dir, 2)+".new", 0o750); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, tight())
	defer s.close(0)
	if got := pendingIDs(s); len(got) != 4 {
		t.Errorf("pending %v", got)
	}
}

// What is settled is not kept, but for the ids.
func TestStartRewrites(t *testing.T) {
	dir, _ := written(t)
	s := open(t, dir, tight())
	s.mu.Lock()
	for seq := range uint64(3) {
		s.record(event{Do: delivered, Sub: "sub_1", Seq: seq + 1, Tries: 1})
	}
	s.mu.Unlock()
	s.close(0)
	s = open(t, dir, tight())
	defer s.close(0)
	text, err := os.ReadFile(filepath.Join(statePath(dir, 3), logName))
	if err != nil {
		t.Fatal(err)
	}
	var kept, last entry
	for i, line := range bytes.SplitAfter(text, []byte("\n"))[:2] {
		if err := json.Unmarshal(line, []any{&kept, &last}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept.Notices) != 1 || kept.Notices[0].ID != "d" || last.Last != 4 || len(last.Seen) != 4 || last.Seen[3] != kept.Notices[0].seenAs() {
		t.Errorf("kept %s", text)
	}
	if c := s.subs["sub_1"].counts; c.Accepted != 4 || c.Delivered != 3 {
		t.Errorf("counts %+v", c)
	}
}

// A folder that an older version wrote has ids without hashes: they are known, whatever they stood for.
func TestIDsWithoutHashes(t *testing.T) {
	dir := t.TempDir()
	state := statePath(dir, 1)
	if err := errors.Join(os.Mkdir(state, 0o750), os.WriteFile(filepath.Join(state, journalName), nil, 0o640),
		os.WriteFile(filepath.Join(state, logName), []byte(`{"last":7,"seen":[{"id":"old","seq":7}]}`+"\n"), 0o640)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first start writes them anew
		s := open(t, dir, tight())
		all, fresh, _, err := s.accept([]*notice{{ID: "old", Key: "k", Type: "t", Payload: []byte("1")}})
		if err != nil || fresh != 0 || all[0].Seq != 7 {
			t.Errorf("%+v, %d new, %v", all, fresh, err)
		}
		s.close(0)
	}
}

func TestSeenIsBounded(t *testing.T) {
	var s seen
	for i := range uint64(maxSeen + 3) {
		s.add(seenID{ID: fmt.Sprint(i), Seq: i})
	}
	list := s.list()
	if _, known := s.by["2"]; known || len(s.by) != maxSeen || len(list) != maxSeen || list[0].Seq != 3 || list[maxSeen-1].Seq != maxSeen+2 {
		t.Errorf("%d ids, from %v to %v", len(s.by), list[0], list[len(list)-1])
	}
}

// memory is a file in memory.
type memory struct{ bytes.Buffer }

func (*memory) Truncate(int64) error { return nil }
func (*memory) Sync() error          { return nil }
func (*memory) Close() error         { return nil }

// FuzzRead holds that no file makes a start panic, and that what one start understood the next one does.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"notices":[{"seq":1,"id":"a","key":"k","type":"t","payload":"MQ==","to":["s","s"]}]}`+"\n"), []byte(`{"do":"put","change":{"id":"s"}}`+"\n"+`{"do":"died","at":1,"sub":"s","seq":1,"letter":{}}`+"\n"))
	f.Add([]byte(`{"notices":[{"seq":1,"to":["s"]},{"seq":2,"to":["s"]}]}`+"\n"), []byte(`{"do":"put","change":{"id":"s"}}`+"\n"+`{"do":"died","at":2,"sub":"s","seq":1,"letter":{}}`+"\n"+
		`{"do":"replay","at":2,"sub":"s","seq":1}`+"\n"+`{"do":"failed","at":2,"sub":"s","seq":2,"tries":2}`+"\n"+`{"do":"delivered","at":2,"sub":"s","seq":1}`+"\n"))
	f.Add([]byte(`{"last":7,"seen":[{"id":"a","seq":7},{"id":"b","seq":6,"hash":9}]}`+"\n"), []byte(`{"do":"count","sub":"s","counts":{"accepted":3}}`+"\n"))
	f.Add([]byte(`{"notices":[null]}`+"\n"), []byte(`{"do":"remove","sub":"s"}`+"\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, log, journal []byte) {
		read := func(log, journal []byte) (*server, error) {
			for name, text := range map[string][]byte{logName: log, journalName: journal} {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o640); err != nil {
					t.Fatal(err)
				}
			}
			s := &server{subs: map[string]*subscription{}, limits: tight()}
			return s, s.read(dir)
		}
		first, err := read(log, journal)
		if err != nil {
			return
		}
		var freshLog, freshJournal memory
		first.log, first.journal = &lineFile{file: &freshLog}, &lineFile{file: &freshJournal}
		if err := errors.Join(first.writeLog(), first.writeJournal()); err != nil {
			t.Fatal(err)
		}
		again, err := read(freshLog.Bytes(), freshJournal.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if first.oldest.Len() != again.oldest.Len() || len(first.subs) != len(again.subs) || first.seq != again.seq || first.letterBytes != again.letterBytes {
			t.Fatalf("understood %d pending, %d subscriptions, last %d; then %d, %d, %d",
				first.oldest.Len(), len(first.subs), first.seq, again.oldest.Len(), len(again.subs), again.seq)
		}
	})
}
