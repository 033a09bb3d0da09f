package live

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	began := time.Unix(1.7e9, 0)
	for name, slow := range map[string]float64{"old": 1, "new:er": 0.5} {
		m := livetest.New(t, filepath.Join(dir, name), record.KindCapacity, began, "plain")
		m.Slow["plain"] = slow
		m.Exp.Machine.Settings, m.Exp.Machine.WakeLatencyHeld = map[string]string{"somaxconn": name}, name == "old"
		m.Search("plain", 1000, 2000, 4000, 4500, 4900)
		m.Finish()
	}
	ladder := livetest.New(t, filepath.Join(dir, "ladder"), record.KindLadder, began, "first", "last")
	ladder.Slow["last"] = 0.5
	for round := 1; round <= 6; round++ {
		for _, v := range []string{"first", "last"} {
			for _, rate := range []float64{3000 + 10*float64(round), 4000, 4200, 4600, 4900} {
				ladder.Begin(record.RoleMeasure, v, round, rate).Grow(livetest.Warmup + 20).End()
			}
		}
	}
	ladder.Finish()
	unlike := livetest.New(t, filepath.Join(dir, "unlike"), record.KindLadder, began, "first", "last")
	unlike.Search("first", 1000, 4500).Search("last", 1000, 4500)
	unlike.Begin(record.RoleMeasure, "first", 1, 4000).Grow(livetest.Warmup + 20).End()
	unlike.Finish()
	s := New(Options{Dir: dir})
	for _, tt := range []struct {
		a, b   string
		status int
		holds  []string
		lacks  string
	}{
		{a: "old", b: "new:er", status: 200, lacks: "<small>[",
			holds: []string{"not measured in turns", "kept the CPUs from halting", "CPU wake-up latency held at 0", "Capacity of B is 1.", "somaxconn", "Resolved to: the same", `id="chart-latency"`, `"name":"A old"`}},
		{a: "old:plain", b: "new:er:plain", status: 200, holds: []string{"Capacity of B is 1."}},
		{a: "ladder:first", b: "ladder:last", status: 200, lacks: "not measured in turns",
			holds: []string{"last is faster than first", "over 6 pairs", "cache&#34;: &#34;last", "<small>[1."}},
		{a: "ladder", b: "ladder", status: 200, holds: []string{"last is faster than first"}},
		{a: "unlike:first", b: "unlike:last", status: 200, lacks: "not measured in turns", holds: []string{"No ratio: "}},
		{a: "ladder:last", b: "ladder:last", status: 200, holds: []string{"one result beside itself"}},
		{a: "old", b: "ladder", status: 200, holds: []string{"not measured in turns", "shop last"}},
		{a: "old", b: "", status: 400, holds: []string{"give two results"}},
		{a: "old", b: "old:none", status: 400, holds: []string{"no variant &#34;none&#34;; there are: plain"}},
		{a: "old", b: "none", status: 404},
		{a: "../old", b: "old", status: 404},
		{a: "old", b: strings.Repeat(":", 3000), status: 400},
	} {
		w := get(t, s, "/compare?"+url.Values{"a": {tt.a}, "b": {tt.b}}.Encode())
		body := w.Body.String()
		if w.Code != tt.status {
			t.Errorf("%s against %s: status %d, want %d: %.300s", tt.a, tt.b, w.Code, tt.status, body)
		}
		for _, want := range tt.holds {
			if !strings.Contains(body, want) {
				t.Errorf("%s against %.20s does not hold %q", tt.a, tt.b, want)
			}
		}
		if tt.lacks != "" && strings.Contains(body, tt.lacks) {
			t.Errorf("%s against %s holds %q", tt.a, tt.b, tt.lacks)
		}
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	c := newCache[int](2)
	now := folder.Stamp{Changed: time.Unix(1, 0), Size: 1}
	c.put("a", now, 1)
	c.put("b", now, 2)
	c.get("a", now)
	c.put("c", now, 3)
	if _, ok := c.get("b", now); ok {
		t.Error("the value that was not used longest is still there")
	}
	if v, ok := c.get("a", now); !ok || v != 1 {
		t.Error("the value that was used is gone")
	}
	if _, ok := c.get("a", folder.Stamp{Changed: time.Unix(2, 0), Size: 1}); ok {
		t.Error("the value of an older file is given")
	}
}
