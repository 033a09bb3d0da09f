package capacity

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// calm is a given number of seconds of windows at 1,000/s with a p99 of 50 ms.
func calm(seconds int) []record.Window {
	var out []record.Window
	for i := range seconds * 10 {
		out = append(out, record.Window{Start: int64(i) * int64(record.WindowLength), Phase: record.PhaseMeasure,
			Client: record.Client{Ended: 100, P99Ms: 50}, Server: &record.Server{}})
	}
	return out
}

// change edits the windows of seconds [from, to).
func change(series []record.Window, from, to int, edit func(*record.Window)) {
	for i := from * 10; i < to*10; i++ {
		edit(&series[i])
	}
}

func slow(w *record.Window)  { w.Client.Ended = 55 }
func late(w *record.Window)  { w.Client.P99Ms = 400 }
func pause(w *record.Window) { w.Server.GCPauseMs = 21 }

func kinds(signals []Signal) string {
	var out []string
	for _, s := range signals {
		out = append(out, s.Kind)
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func([]record.Window)
		joint int
		alone string
	}{
		"calm": {func([]record.Window) {}, 0, ""},
		"together": {func(s []record.Window) {
			change(s, 40, 43, slow)
			change(s, 41, 44, late)
			s[425].Server.GCPauseMs = 230
		}, 1, ""},
		"twice": {func(s []record.Window) {
			for _, at := range []int{30, 70} {
				change(s, at, at+3, slow)
				change(s, at, at+3, late)
				s[at*10+5].Server.GCPauseMs = 230
			}
		}, 2, ""},
		"far apart": {func(s []record.Window) {
			change(s, 20, 23, slow)
			change(s, 40, 43, late)
			s[605].Server.GCPauseMs = 230
		}, 0, "rate p99 gc"},
		"two of three":          {func(s []record.Window) { change(s, 40, 43, slow); change(s, 41, 44, late) }, 0, "rate p99"},
		"the rate falls by 39%": {func(s []record.Window) { change(s, 40, 43, func(w *record.Window) { w.Client.Ended = 61 }) }, 0, ""},
		"p99 rises by 290 ms":   {func(s []record.Window) { change(s, 40, 43, func(w *record.Window) { w.Client.P99Ms = 340 }) }, 0, ""},
		"p99 rises by 300 ms from 200": {func(s []record.Window) {
			change(s, 0, 90, func(w *record.Window) { w.Client.P99Ms = 200 })
			change(s, 40, 43, func(w *record.Window) { w.Client.P99Ms = 500 })
		}, 0, ""},
		"a pause of 199 ms": {func(s []record.Window) { s[405].Server.GCPauseMs = 199 }, 0, ""},
		"a pause over three windows": {func(s []record.Window) {
			s[405].Server.GCPauseMs, s[406].Server.GCPauseMs, s[407].Server.GCPauseMs = 60, 100, 60
		}, 0, "gc"},
		"three pauses in a row": {func(s []record.Window) {
			s[405].Server.GCPauseMs, s[406].Server.GCPauseMs, s[407].Server.GCPauseMs = 90, 90, 90
		}, 0, ""},
		"504 ms within a minute":            {func(s []record.Window) { change(s, 40, 64, func(w *record.Window) { w.Server.GCPauseMs = 2.1 }) }, 0, "gc"},
		"504 ms within a minute and a half": {func(s []record.Window) { change(s, 0, 90, func(w *record.Window) { w.Server.GCPauseMs = 0.56 }) }, 0, ""},
		"before the median is known":        {func(s []record.Window) { change(s, 2, 4, late) }, 0, ""},
		"in the drain": {func(s []record.Window) {
			change(s, 80, 90, func(w *record.Window) { slow(w); late(w); pause(w); w.Phase = record.PhaseDrain })
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			series := calm(90)
			c.edit(series)
			joint, alone := Inflections(series)
			if len(joint) != c.joint || kinds(alone) != c.alone {
				t.Errorf("%d joint, alone %q: %+v %+v", len(joint), kinds(alone), joint, alone)
			}
		})
	}
}

func TestInflectionSaysWhenAndWhat(t *testing.T) {
	series := calm(90)
	change(series, 40, 43, slow)
	change(series, 41, 44, late)
	series[425].Server.GCPauseMs = 230
	joint, _ := Inflections(series)
	if len(joint) != 1 || joint[0].At != int64(40*time.Second) || kinds(joint[0].Signals) != "rate p99 gc" {
		t.Fatalf("%+v", joint)
	}
	for _, want := range []string{"fell by 45%, from 1000/s to 550/s", "p99 rose from 50 to 400 ms", "paused the target for 230 ms"} {
		if !strings.Contains(joint[0].Text, want) {
			t.Errorf("%q does not say %q", joint[0].Text, want)
		}
	}
}

func TestNothingToFind(t *testing.T) {
	joint, alone := Inflections(nil)
	if joint != nil || alone != nil {
		t.Errorf("%v %v of nothing", joint, alone)
	}
	noServer := calm(30)
	for i := range noServer {
		noServer[i].Server = nil
	}
	if _, alone := Inflections(noServer); alone != nil {
		t.Errorf("%+v", alone)
	}
}
