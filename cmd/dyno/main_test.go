package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"dyno": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(run(ctx, os.Args[1:]))
		},
	})
}

// The scripts run the command as a user does and look at exit code, stdout and stderr.
func TestScripts(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root+"/../..")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "PATH"} { // scenarios build programs
				if v := os.Getenv(name); v != "" {
					env.Setenv(name, v)
				}
			}
			if os.Getenv("GOCACHE") == "" {
				if dir, err := os.UserCacheDir(); err == nil {
					env.Setenv("GOCACHE", dir+"/go-build")
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "awake" {
				return false, fmt.Errorf("no condition is called %s", name)
			}
			stop, err := keepAwake()
			if err == nil {
				stop()
			}
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// exits CODE COMMAND...: the command ends with exactly that code.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				err = ts.Exec(args[1], args[2:]...)
				got := 0
				if e, ok := err.(interface{ ExitCode() int }); ok {
					got = e.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if got != want {
					ts.Fatalf("%v ended with %d, want %d; stderr:\n%s", args[1:], got, want, ts.ReadFile("stderr"))
				}
			},
		},
	})
}
