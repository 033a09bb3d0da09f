package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dyno/bench/stored"
)

// A server that is run again replaces what was kept of it, and no other.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	of := func(server string, low, high float64) observation {
		return observation{Server: server, Truth: "lock", Factor: 2, bracket: bracket{AtLeast: low, AtMost: high, First: "lock"}}
	}
	for _, o := range []observation{of("a", 1, 3), of("b", 2.5, 0), of("a", 1, 1.5)} {
		if err := keep(file, []observation{o}, stored.Made{Commit: "c"}); err != nil {
			t.Fatal(err)
		}
	}
	var got results
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := summary{Name: "all", Truth: "-", Forecasts: 2, Above: 1, Missed: 2, Named: 2}
	if len(got.Steps) != 3 || got.Steps[2] != want {
		t.Errorf("%+v", got.Steps)
	}
}
