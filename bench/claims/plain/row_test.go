package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"dyno/bench/stored"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

func stack(value float64, functions ...string) record.Stack {
	s := record.Stack{Value: value}
	for _, f := range functions {
		s.Frames = append(s.Frames, record.Frame{Function: f})
	}
	return s
}

// A row has the verdict, its first place, and shares of the CPU without what profiling took.
func TestRow(t *testing.T) {
	profiled := &record.Run{Spec: record.RunSpec{Role: record.RoleProfile, Variant: "plain"}, FixtureProfiles: []*record.Profile{{Type: record.ValueCPU, Stacks: []record.Stack{
		stack(30, "runtime.mallocgc", "encoding/json.Unmarshal", "main.handle"),
		stack(20, "encoding/json.state1", "encoding/json.Unmarshal", "main.handle"),
		stack(50, "main.work", "main.handle"),
		stack(900, "runtime/pprof.write"),
	}}}}
	d := diagnosis{Valid: true, BoundBy: "wait", Kind: "network", Confirmed: true, Headline: "Waiting bounds it.",
		Where: []stacks.Site{{Function: "dyno/services/chain/plain.(*pool).add", Share: 0.4}, {Function: "main.other", Share: 0.1}}, Made: map[string]any{"commit": "0123abcd"}}
	traced := &record.Run{Spec: record.RunSpec{Role: record.RoleTraced, Variant: "plain"}, Stages: []record.Stage{{Name: "seal", Latency: record.Quantiles{P95: 3}}}}
	got, err := services[0].row(d, &record.Experiment{Runs: []*record.Run{{Spec: record.RunSpec{Role: record.RoleSaturate}}, profiled, traced}})
	want := row{Name: "chain", BoundBy: "wait (network)", Sure: "confirmed", Place: "plain.(*pool).add", Share: 0.4, Said: "Waiting bounds it.",
		CPU: "other 70%, malloc 30%", Named: "mallocgc 30%, encoding/json 50%, Mutex 0%", Source: services[0].source, Commit: "0123abcd", Stages: map[string]float64{"seal": 3}}
	if share := got.Shares["encoding/json"]; len(got.Shares) != 3 || share[0] != 0.5 || share[1] >= 0.5 || share[2] <= 0.5 {
		t.Errorf("shares %v", got.Shares)
	}
	got.Shares = nil
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if _, err := services[0].row(diagnosis{Reason: "no answers"}, nil); err == nil {
		t.Error("a diagnosis that is not valid was kept")
	}
	if _, err := services[0].row(d, &record.Experiment{}); err == nil {
		t.Error("an experiment without profiles was kept")
	}
}

// Rows are in the order of the services, each once, with the packages of all, and the highest share
// that others took during one of them.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain.json")
	for _, k := range []struct {
		r   row
		pkg string
	}{{row{Name: "arena", Run: stored.Run{Others: new(0.3)}}, "dyno/a"}, {row{Name: "chain", Run: stored.Run{Others: new(0.02), Modified: true, Quick: true}}, "dyno/c"}, {row{Name: "arena", Share: 1, Run: stored.Run{Others: new(0.01)}}, "dyno/a"}} {
		if err := k.r.keep(file, map[string]any{"command": []string{"plain"}, "packages": []any{k.pkg}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all stored.Rows[row]
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Steps) != 2 || all.Steps[0].Name != "chain" || all.Steps[1].Share != 1 {
		t.Errorf("rows %+v", all.Steps)
	}
	if all.Made["modified"] != true || !reflect.DeepEqual(all.Made["command"], []any{"plain", "--quick"}) {
		t.Errorf("a row is of modified code and of the quick form: %v", all.Made)
	}
	if all.Made["others"] != 0.02 || !reflect.DeepEqual(all.Made["packages"], []any{"dyno/a", "dyno/c"}) {
		t.Errorf("made %v", all.Made)
	}
}

// The interval of a share is Wilson's, whose published example is 1 of 10: 0.018 to 0.404.
func TestInterval(t *testing.T) {
	for _, tt := range []struct{ share, n, lo, hi float64 }{{0.1, 10, 0.0179, 0.4042}, {0, 100, 0, 0.037}, {0.5, 400, 0.4512, 0.5488}} {
		got := interval(tt.share, tt.n)
		if got[0] != tt.share || math.Abs(got[1]-tt.lo) > 1e-3 || math.Abs(got[2]-tt.hi) > 1e-3 {
			t.Errorf("%v of %v: %v", tt.share, tt.n, got)
		}
	}
}
