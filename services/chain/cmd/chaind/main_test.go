package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"dyno/parts/quicktest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"chaind": main})
}

// The scripts run the command as a user does. $CHAIN is a folder with genesis.json and chain.rlp,
// $STATETESTS one of state tests.
func TestScripts(t *testing.T) {
	at := func(path string) string {
		path, err := filepath.Abs(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			if cond != "quick" {
				return false, fmt.Errorf("unknown condition %s", cond)
			}
			return quicktest.On(), nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("CHAIN", at("testdata/archive"))
			e.Setenv("STATETESTS", at("statetest/testdata"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"truncate": func(ts *testscript.TestScript, _ bool, args []string) { // FILE COPY: without its last byte
				text := ts.ReadFile(args[0])
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text[:len(text)-1]), 0o600))
			},
			"flip": func(ts *testscript.TestScript, _ bool, args []string) { // PATTERN: a bit in the middle of each file
				files, err := filepath.Glob(ts.MkAbs(args[0]))
				ts.Check(err)
				for _, file := range files {
					text, err := os.ReadFile(file)
					ts.Check(err)
					text[len(text)/2] ^= 1
					ts.Check(os.WriteFile(file, text, 0o600))
				}
			},
		},
	})
}
