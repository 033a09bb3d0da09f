package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/parts/daemon"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

// keys are those of sync --json, in order, with the kind of their values. They are a promise: keys
// may only be added.
var keys = []string{
	"ledgers number", "bytes number", "elapsed_s number", "ledgers_per_s number", "p95_ms number", "bound_by string",
	"refetched number", "blamed array", "gaps array", "signatures number", "trusted string", "proved string", "marked array",
}

// members are the keys of a JSON object, in order, with the kind of their values.
func members(t *testing.T, text string) (all []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("%q is no object: %v", text, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		kind := map[string]string{"float64": "number", "string": "string", "[]interface {}": "array"}[fmt.Sprintf("%T", value)]
		all = append(all, fmt.Sprint(key, " ", kind))
	}
	return all
}

// A stopped sync says how to continue, once there is something stored.
func TestStoppedSyncSaysHowToContinue(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	r := ledgertest.NewRelay(t, honest.URL())
	r.Decide(func(a ledgertest.Ask) ledgertest.Verdict {
		if a.Index != 0 && a.Index < last-2 {
			return ledgertest.Hang
		}
		return ledgertest.Pass
	})
	dir := t.TempDir()
	stopped := func(p *program.Process) {
		t.Helper()
		p.Stop()
		if code := p.Wait(t); code != 1 {
			t.Errorf("exit code %d", code)
		}
		want := "ledgersync: sync was stopped before it was done; ledgersync sync --data " + dir + " continues it\n"
		if said := p.Stderr.String(); !strings.HasSuffix(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
	p := ledgersync(t, syncing(dir, first, last, r.URL, "--log-level", "info")...)
	passesOn(t, p)
	stopped(p)
	r.Traffic()
	p = ledgersync(t, "sync", "--data", dir, "--debug", "127.0.0.1:0")
	r.Await(t, "the rest to be asked for", func(x ledgertest.Traffic) bool { return len(x.Asked) > 0 })
	stopped(p)
}

// passesOn waits until a job has passed a ledger on to be stored, which it does with the first one
// before it counts the second one as proved. A job that is stopped stores what was passed on.
func passesOn(t testing.TB, p *program.Process) {
	t.Helper()
	until(t, p, "two ledgers to be proved", func() bool { return proved(t, p) >= 2 })
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A last line that cannot be written is an error, as text and as JSON.
func TestLastLineIsWritten(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, honest.URL())...)
	for _, more := range [][]string{nil, {"--json"}} {
		var stderr bytes.Buffer
		none := func(string) (string, bool) { return "", false }
		args := append([]string{"sync", "--data", dir, "--debug", "127.0.0.1:0"}, more...)
		if code := daemon.Run(t.Context(), Service(), args, none, broken{}, &stderr); code != 1 || !strings.Contains(stderr.String(), io.ErrClosedPipe.Error()) {
			t.Errorf("%v: exit code %d, %s", more, code, &stderr)
		}
	}
}

// The last line has the same keys however a sync ends.
func TestJSONHasItsKeys(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	gone := serveChain(t, sim.Config{Chain: honest.Chain()})
	liar := serveChain(t, sim.Config{Chain: honest.Chain(), Faults: fault.Rates{fault.Partial: 1}})
	url := gone.URL()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	whole := fmt.Sprintf("%d-%d", first, last)
	for _, c := range []struct {
		name, url string
		code      int
		ledgers   uint64
		gaps      []string
		more      []string
	}{
		{"all is well", honest.URL(), 0, ledgers, []string{}, nil},
		{"no server answers", url, 1, 0, []string{whole}, []string{"--set", "patience=1s"}},
		{"no server is truthful", liar.URL(), 1, 0, []string{whole}, []string{"--set", "attempts=1", "--anchor", truth(t, honest, last).Hash.String()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, said := run(t, c.code, syncing(t.TempDir(), first, last, c.url, append(c.more, "--json")...)...)
			if got := members(t, out); !slices.Equal(got, keys) || strings.Count(out, "\n") != 1 {
				t.Errorf("%s\nhas the keys %q, want %q", out, got, keys)
			}
			var s summary
			if err := json.Unmarshal([]byte(out), &s); err != nil {
				t.Fatal(err)
			}
			if s.Ledgers != c.ledgers || !slices.Equal(s.Gaps, c.gaps) {
				t.Errorf("%+v", s)
			}
			if c.code == 0 && (s.Bytes == 0 || s.Elapsed <= 0 || s.Rate <= 0 || s.P95 <= 0 || len(s.Blamed) > 0 || !strings.Contains(s.Trusted, "as reported by 1 of 1 servers")) {
				t.Errorf("%+v", s)
			}
			if c.code != 0 && !strings.Contains(said, "ledgersync: ") {
				t.Errorf("it does not say what is wrong: %s", said)
			}
			if c.url == liar.URL() && (len(s.Blamed) == 0 || s.Blamed[0].Server != c.url || s.Blamed[0].Reason != xrpl.ErrRoot.Error()) {
				t.Errorf("faults: %+v", s.Blamed)
			}
		})
	}
}

// Ledgers below that were proved from another anchor are reported as a mismatch.
func TestRangeMustContinueWhatIsBelow(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	other := small
	other.Seed++ // another chain with the same indexes
	foreign := serveChain(t, sim.Config{Spec: other})
	const middle = first + ledgers/2
	for _, level := range []string{"L1", "L2"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, 0, syncing(dir, first, middle-1, foreign.URL(), "--level", level)...)
			above := syncing(dir, middle, last, honest.URL(), "--level", level)
			if level == "L1" { // L1 does not link
				run(t, 0, above...)
				return
			}
			_, said := run(t, 1, above...)
			for _, says := range []string{
				fmt.Sprintf("ledger %d", middle-1), truth(t, foreign, middle-1).Hash.String(), truth(t, honest, middle-1).Hash.String(), "another folder",
			} {
				if !strings.Contains(said, says) {
					t.Errorf("it does not say %q: %s", says, said)
				}
			}
			// The two histories are not adjacent.
			if has, _ := stored(t, dir); has != fmt.Sprintf("%d-%d,%d-%d", first, middle-1, middle+1, last) {
				t.Errorf("stored: %s", has)
			}
		})
	}
}

// A stopped sync continues with other flags, and with the stored values of those that were not
// given.
func TestContinuesWithOtherFlags(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	relay := ledgertest.NewRelay(t, honest.URL())
	const middle = first + ledgers/2
	relay.Decide(func(a ledgertest.Ask) ledgertest.Verdict {
		if a.Whole && a.Index <= middle {
			return ledgertest.Hang
		}
		return ledgertest.Pass
	})
	dir := filepath.Join(t.TempDir(), "history")
	hash := truth(t, honest, last).Hash.String()
	p := ledgersync(t, syncing(dir, first, last, relay.URL, "--level", "L4", "--anchor", hash, "--json", "--log-level", "info")...)
	passesOn(t, p)
	relay.Await(t, "the middle of the range to be asked for", func(x ledgertest.Traffic) bool { return len(x.Answered) == last-middle && x.Asked[middle] > 0 })
	p.Stop()
	if code := p.Wait(t); code != 1 {
		t.Errorf("a sync that was stopped exits with %d, want 1: %s", code, p.Stderr.String())
	}
	if got := members(t, p.Stdout.String()); !slices.Equal(got, keys) {
		t.Errorf("stopped, it says %s", p.Stdout.String())
	}
	// A ledger that was answered just before the stop may be missing too: it was not proved yet.
	has, asked := stored(t, dir)
	var lowest uint32
	if _, err := fmt.Sscanf(has, fmt.Sprintf("%%d-%d", last), &lowest); err != nil || lowest <= middle || asked.Level != "L4" || asked.Anchor != hash {
		t.Fatalf("stored: %s, asked for: %+v", has, asked)
	}
	if got := ledgertest.ResultOf(t, p); len(got.Gaps) != 1 || got.Gaps[0] != fmt.Sprintf("%d-%d", first, lowest-1) {
		t.Errorf("it says that %v is missing, stored is %s", got.Gaps, has)
	}

	// Another server, another assembly, and more below: the rest is the folder's.
	second := serveChain(t, sim.Config{Chain: honest.Chain()})
	out, _ := run(t, 0, "sync", "--data", dir, "--server", second.URL(), "--assembly", "baseline", "--debug", "127.0.0.1:0", "--json")
	var s summary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if missing := uint64(lowest - first); s.Ledgers != missing || s.Signatures != transactions*s.Ledgers || len(s.Gaps) > 0 {
		t.Errorf("%+v", s)
	}
	has, asked = stored(t, dir)
	if want := (store.Progress{From: first, To: last, Servers: []string{second.URL()}, Level: "L4", Anchor: hash}); has != fmt.Sprintf("%d-%d", first, last) || fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("stored: %s, asked for: %+v, want %+v", has, asked, want)
	}
	checked(t, dir)
}
