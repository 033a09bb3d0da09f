package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/process"
	"dyno/parts/quicktest"
)

// harms are what may happen to a file, by name.
var harms = []struct {
	name string
	do   func(path string, content []byte) error
}{
	{"a bit in the middle", func(path string, b []byte) error { return flipped(path, b, written(b)/2) }},
	{"a bit at the end", func(path string, b []byte) error { return flipped(path, b, written(b)-1) }},
	{"1 byte cut off", cut(1)},
	{"9 bytes cut off", cut(9)},
	{"200 bytes cut off", cut(200)},
	{"empty", func(path string, _ []byte) error { return os.Truncate(path, 0) }},
	{"a page of zeros", func(path string, b []byte) error {
		from := written(b) / 2 &^ 4095
		clear(b[from:min(len(b), from+4096)])
		return os.WriteFile(path, b, 0o640)
	}},
	{"removed", func(path string, _ []byte) error { return os.Remove(path) }},
}

// written is where a file ends but for the zeros that were allocated ahead.
func written(b []byte) int { return len(bytes.TrimRight(b, "\x00")) }

func flipped(path string, b []byte, at int) error {
	if at < 0 || at >= len(b) {
		return nil
	}
	b[at] ^= 0x10
	return os.WriteFile(path, b, 0o640)
}

func cut(n int) func(string, []byte) error {
	return func(path string, b []byte) error { return os.Truncate(path, int64(max(0, written(b)-n))) }
}

// Whatever happens to a file of the data folder after kill -9: all that was acknowledged is there,
// or what is missing is counted, now and at later starts; or the start is refused with what, where,
// and how to go on.
func TestDamage(t *testing.T) {
	quicktest.Skip(t, "starts some hundred processes")
	hooks := newReceiver()
	web := httptest.NewServer(hooks)
	defer web.Close()
	settings := []string{"--allow-private-targets", "--set=max_attempts=100", "--set=timeout=5s"}
	dir := filepath.Join(t.TempDir(), "data")
	owed := owing(t, dir, web.URL, slices.Concat(settings, []string{"--set=backoff=50ms", "--set=max_backoff=100ms"})) // no notice is dead by then
	settings = append(settings, "--set=backoff=1ms", "--set=max_backoff=10ms")
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		files++
		name, _ := filepath.Rel(dir, path)
		for _, harm := range harms {
			t.Run(name+" "+harm.name, func(t *testing.T) {
				hurt := filepath.Join(t.TempDir(), "data")
				if err := os.CopyFS(hurt, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(path)
				if err == nil {
					err = harm.do(filepath.Join(hurt, name), content)
				}
				if err != nil {
					t.Fatal(err)
				}
				endure(t, hurt, name, hooks, owed, settings)
			})
		}
		return nil
	})
	if err != nil || files < 9 {
		t.Errorf("%d files, %v", files, err)
	}
}

// owing makes a data folder by which two subscriptions are owed notices, as kill -9 leaves it, and
// returns how many, by path: their payloads count from 1 and end with 200.
func owing(t *testing.T, dir, receiver string, settings []string) map[string]int {
	p := serve(t, dir, settings...)
	subscribe(t, p.api, receiver+"/sick/a")
	by := poster{key: "k"}
	post := func(upTo int64) {
		for by.acked.Load() < upTo {
			if err := by.post(p.api); err != nil {
				t.Fatal(err)
			}
		}
	}
	post(100)
	p.stop() // which writes a checkpoint
	p = serve(t, dir, settings...)
	subscribe(t, p.api, receiver+"/sick/b")
	post(200)
	p.Kill()
	return map[string]int{"/sick/a": 200, "/sick/b": 100}
}

// endure starts notifyd on a damaged folder and holds it to its account.
func endure(t *testing.T, dir, file string, hooks *receiver, owed map[string]int, settings []string) {
	hooks.turn(true)
	said, err := refused(t, dir, settings)
	if err != nil {
		t.Logf("refused: %s", said)
		if !strings.Contains(said, filepath.Dir(filepath.Join(dir, file))) || !strings.Contains(said, "backup") && !strings.Contains(said, "choose") && !strings.Contains(said, "write") {
			t.Errorf("it does not say what to do: %s", said)
		}
		if strings.Contains(file, "/") { // of a log
			if !strings.Contains(said, "--accept-damage") {
				t.Errorf("it does not name the flag: %s", said)
			}
			serve(t, dir, append(settings, "--accept-damage")...).stop()
			p := serve(t, dir, settings...) // what was accepted once needs no flag again
			account(t, p)
			p.stop()
		}
		return
	}
	var lost int
	for round := range 2 {
		p := serve(t, dir, settings...)
		s := account(t, p)
		missing := 0
		for path, n := range owed {
			got := hooks.distinct(path + " k")
			missing += n - got
		}
		if s.Lost != missing || len(s.Subscriptions) != len(owed) || s.Delivered+s.Dead != s.Accepted || s.Accepted != 300 {
			t.Errorf("round %d: %d are missing: %+v; it said:\n%s", round, missing, s, p.output())
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "*", "quarantine", "*")); s.Lost > 0 && len(kept) == 0 && !strings.Contains(p.output(), "missing") {
			t.Errorf("nothing is in quarantine; it said:\n%s", p.output())
		}
		if round > 0 && s.Lost != lost {
			t.Errorf("%d were lost, %d at the next start", lost, s.Lost)
		}
		lost = s.Lost
		p.Kill()
	}
	if lost > 0 {
		t.Logf("%d lost", lost)
	}
}

// refused starts notifyd and ends it when it is ready. It returns what a process printed that ended
// on its own.
func refused(t *testing.T, dir string, settings []string) (said string, err error) {
	command := append([]string{builds.Program(t, "."), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + dir}, settings...)
	p, err := process.Start(t.Context(), process.Spec{Command: command, ReadyLine: true})
	if err == nil {
		p.Kill()
		return p.LogTail(1000), nil
	}
	exit := (*process.ExitError)(nil)
	if !errors.As(err, &exit) || exit.Code != 1 {
		return "", fmt.Errorf("it ended with %w", err)
	}
	return exit.Log, err
}

type sums struct {
	Accepted, Delivered, Dead, Pending, Lost int
	Subscriptions                            []struct{ URL string }
}

// account waits until nothing is pending and returns the sums.
func account(t *testing.T, p notifyd) (s sums) {
	for {
		status, text, err := ask("GET", p.api+"/v1/stats", "", "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d", status)
		}
		if err == nil {
			s = sums{}
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatalf("%v; it said:\n%s", err, p.output())
		}
		if s.Pending == 0 {
			return s
		}
		time.Sleep(5 * time.Millisecond) // between two looks
	}
}

// distinct is how many different numbers came.
func (r *receiver) distinct(lane string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[int]bool{}
	for _, n := range r.got[lane] {
		seen[n] = true
	}
	return len(seen)
}
