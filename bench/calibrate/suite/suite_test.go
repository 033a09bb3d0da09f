package suite

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/bench/calibrate/calibration"
	"dyno/lab/diagnose/rules"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/parts/quicktest"

	"pgregory.net/rapid"
)

var suite = []Server{{Name: "hash", Family: "cpu"}, {Name: "short", Family: "lock"}, {Name: "long", Family: "lock"}}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		only []string
		want []string
	}{
		{nil, []string{"hash", "short", "long"}},
		{[]string{"long"}, []string{"long"}},
		{[]string{"lock"}, []string{"short", "long"}},
		{[]string{"lock", "short", "hash", "hash"}, []string{"short", "long", "hash"}}, // each once: it has one folder
	} {
		got, err := choose(suite, c.only)
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.only, names, err, c.want)
		}
	}
	_, err := choose(suite, []string{"hash", "nosuch"})
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), `"nosuch"`) || !strings.Contains(err.Error(), "cpu (hash), lock (short, long)") {
		t.Errorf("%v", err)
	}
}

// An unknown name is refused before anything is built.
func TestNamesAreCheckedFirst(t *testing.T) {
	for name, run := range map[string]func(Options) error{
		"calibrate": func(o Options) error { _, err := Run(t.Context(), o); return err },
		"what-if":   func(o Options) error { _, err := WhatIf(t.Context(), o, nil); return err },
	} {
		err := run(Options{Only: []string{"nosuch"}, Say: func(text string) { t.Errorf("%s: it says %q", name, text) }})
		if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "mutex-block") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a folder's name is made of can be read from it again, however many hyphens a server's has.
func TestFolderIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.StringMatching(`[a-z0-9]+(-[a-z0-9]+)*`).Draw(t, "server")
		seed := rapid.Uint64().Draw(t, "seed")
		inside := rapid.SampledFrom([]string{"agent", "pprof", "none"}).Draw(t, "inside")
		if s, n, i, ok := parts(folderName(server, seed, inside)); !ok || s != server || n != seed || i != inside {
			t.Fatalf("%s-%d-%s was read as %s, %d, %s, %v", server, seed, inside, s, n, i, ok)
		}
	})
	for _, other := range []string{"", "hash", "hash-agent", "hash-x-agent", "hash--1-agent "} {
		if s, n, i, ok := parts(other); ok && folderName(s, n, i) != other {
			t.Errorf("%q was read as %s, %d, %s", other, s, n, i)
		}
	}
}

// A server is driven by its entry in the list, and its truth counts as hidden only where it is.
func TestScenarioOfAServer(t *testing.T) {
	s := Server{binary: "/bin/bounds", Name: "thinking", Truth: "lock", Also: []string{"cpu"}, Method: "POST", Path: "/buy", BodyBytes: 3, Invisible: []string{"none"}}
	s.Load.ThinkMs, s.Load.MaxRate, s.Load.Engine, s.Load.HTTP2 = 2.5, 200, "std", true
	sc := s.Scenario(7, "pprof")
	want := []string{"--server", "thinking", "--seed", "7", "--inside", "pprof"}
	if sc.Mode != record.KindDiagnose || !slices.Equal(sc.Target.Command, []string{"/bin/bounds"}) || !slices.Equal(sc.Target.Args, want) {
		t.Errorf("starts %+v", sc.Target.Process)
	}
	l := sc.Load
	if l.URL != "http://${target.listen}/buy" || l.Requests[0].Method != "POST" || l.Requests[0].Body.Text != "xxx" || l.Think != 2500*time.Microsecond || l.MaxRate != 200 || l.Engine != "std" || !l.TLS.HTTP2 {
		t.Errorf("is driven by %+v", l)
	}
	c := s.newCase(7, "none")
	if !slices.Equal(c.Truth, []rules.Bottleneck{rules.Lock, rules.CPU}) || !c.Hidden || s.newCase(7, "agent").Hidden || c.Seed != 7 {
		t.Errorf("%+v", c)
	}
}

// The list of the servers' command parses, and every truth in it is a possible verdict.
func TestTheSuiteIsUnderstood(t *testing.T) {
	_, servers, remove, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	bounds := []rules.Bottleneck{rules.Unknown, rules.CPU, rules.GC, rules.Lock, rules.Syscall, rules.Wait, rules.Generator, rules.Environment, rules.NotLoaded}
	seen := map[string]bool{}
	for _, s := range servers {
		if s.Name == "" || s.Family == "" || !strings.HasPrefix(s.Path, "/") || seen[s.Name] {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
		for _, truth := range s.truth() {
			if !slices.Contains(bounds, truth) {
				t.Errorf("%s is bound by %q, which no verdict can be", s.Name, truth)
			}
		}
	}
	if len(servers) < 10 {
		t.Errorf("%d servers", len(servers))
	}
}

// Servers that Go did not build run once, whatever the interfaces; without their runtime, not at
// all.
func TestOtherLanguages(t *testing.T) {
	known, odd := Server{Name: "go"}, Server{Name: "odd", Runtime: "no-such-runtime", Truth: "wait", Kind: "unseen"}
	var got []string
	for _, s := range seenFrom([]Server{known, odd}, []string{"agent", "pprof"}) {
		got = append(got, s.Name+" "+s.inside)
	}
	if want := []string{"go agent", "odd none", "go pprof"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if c := odd.newCase(1, "none"); c.Kind != "unseen" {
		t.Errorf("%+v", c)
	}
	var said []string
	say := func(line string) { said = append(said, line) }
	left, err := startable([]Server{known, odd, odd}, say)
	if err != nil || len(left) != 1 || len(said) != 1 || said[0] != "skipped: 2 servers need no-such-runtime, which is not installed" {
		t.Errorf("%+v, %q, %v", left, said, err)
	}
	if _, err := startable([]Server{odd}, say); err == nil || err.Error() != "1 server needs no-such-runtime, which is not installed" {
		t.Errorf("%v", err)
	}
}

// One server of each language is diagnosed from outside. Its verdict depends on the machine.
func TestDiagnosesOtherLanguages(t *testing.T) {
	quicktest.Skip(t, "diagnoses two servers")
	for _, name := range []string{"node-pool", "python-lock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases, err := Run(t.Context(), Options{Out: t.TempDir(), Only: []string{name}, Repeats: 1, Seed: 1, Inside: []string{"agent"}, Depth: experiment.Quick,
				Done: func(int, int, calibration.Case) {}, Say: func(string) {}})
			if err != nil && strings.Contains(err.Error(), "is not installed") {
				t.Skip(err)
			}
			if err != nil || len(cases) != 1 {
				t.Fatalf("%d cases, %v", len(cases), err)
			}
			j := calibration.Insider(cases, rules.Defaults)[0]
			if _, seen := j.Verdict.Signals[rules.Awake]; !seen || j.Inside != "none" || j.Verdict.Signals[rules.Throughput] == 0 {
				t.Errorf("%+v", j.Verdict)
			}
		})
	}
}

func TestReadOfAnotherFolder(t *testing.T) {
	if _, err := Read(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no case") {
		t.Errorf("an empty folder: %v", err)
	}
}
