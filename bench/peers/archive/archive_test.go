package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// A chain is made once, taken up once by each node, and its old states are read alike; without geth
// by chaind alone.
func TestArchive(t *testing.T) {
	quicktest.Skip(t, "builds chaind, and executes a chain with each node")
	var builds processtest.Builds
	defer builds.Remove()
	o := options{chaind: builds.Program(t, "dyno/services/chain/cmd/chaind"), data: filepath.Join(t.TempDir(), "data"),
		transfers: 1000, block: 10, accounts: 50, questions: 90}
	geth, err := exec.LookPath("../../../dyno-out/geth")
	if err != nil {
		t.Logf("no dyno-out/geth, so chaind is alone; make rivals builds it: %v", err)
		o.nodes = "chaind-128,chaind-0"
	}
	o.geth = geth
	var first, second strings.Builder
	if err := o.run(t.Context(), &first); err != nil {
		t.Fatalf("%v\n%s", err, first.String())
	}
	t.Log(first.String())
	for _, want := range []string{"1000 transfers between 50 accounts, 10 in a block", "| chaind-0 ", "90 questions about states after random blocks of 100, 0 different answers"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if err := o.run(t.Context(), &second); err != nil { // what is there is not made again
		t.Fatal(err)
	}
	table := func(s string) string { before, _, _ := strings.Cut(s, "questions about"); return before }
	if table(first.String()) != table(second.String()) {
		t.Errorf("the second run has another table:\n%s", second.String())
	}
	o.accounts++
	if err := o.run(t.Context(), &second); err == nil || !strings.Contains(err.Error(), "choose another --data") {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	for want, o := range map[string]options{
		"--data must name": {transfers: 100, block: 10, accounts: 2},
		"--accounts 2 to":  {data: "x", transfers: 100, block: 10, accounts: 1},
		"there are chaind": {data: "x", transfers: 100, block: 10, accounts: 2, nodes: "erigon"},
		"make rivals":      {data: "x", transfers: 100, block: 10, accounts: 2, nodes: "geth-full", geth: "missing"},
	} {
		if err := o.run(t.Context(), new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
