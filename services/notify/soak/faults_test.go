package soak

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/notify/soak/history"
)

// A dispatcher without faults passes, and each fault is found.
func TestFindsFaults(t *testing.T) {
	for fault, finds := range map[string][]history.Kind{
		"":        nil,
		early:     {history.Lost, history.Forgotten, history.Definitions},
		halves:    {history.HalfBatch},
		forgets:   {history.Forgotten, history.Repeated},
		reuses:    {history.SeqReused},
		overtakes: {history.Reordered},
		again:     {history.Excess},
		undead:    {history.Unwanted, history.Definitions},
		miscounts: {history.Miscounted},
	} {
		t.Run("fault "+fault, func(t *testing.T) {
			t.Parallel()
			findsFault(t, fault, finds)
		})
	}
}

func findsFault(t *testing.T, fault string, finds []history.Kind) {
	quicktest.Skip(t, "crashes a dispatcher again and again")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const tries = 5 // a crash may miss the moment in which a fault does harm
	for seed := uint64(1); ; seed++ {
		data := filepath.Join(t.TempDir(), "data")
		summary, err := Run(t.Context(), Config{
			Command: []string{"env", fmt.Sprintf("%s=%s,%s", faultyVariable, fault, data), self}, Crashes: 4, Seed: seed})
		t.Logf("\n%s\n%v", summary, err)
		switch {
		case fault == "":
			if err != nil {
				t.Error("there is no fault")
			}
			return
		case summary == nil: // it could not go on to the end
			if slices.Contains(finds, history.Definitions) && errors.Is(err, ErrGone) {
				return
			}
			t.Fatal(err)
		case slices.ContainsFunc(finds, func(k history.Kind) bool { return summary.Verdict.Broken[k] > 0 }):
			return
		case seed == tries:
			t.Fatalf("found %v, want one of %v", slices.Collect(maps.Keys(summary.Verdict.Broken)), finds)
		}
	}
}
