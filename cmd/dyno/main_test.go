package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/parts/quicktest"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"dyno": main,
	})
}

// freeAddress returns an address whose port is below the range that systems use for outgoing
// connections. A UDP socket reserves it until the test ends, as those of dyno/parts/freeport do: tests of
// other packages then choose another port, also while no server listens there.
func freeAddress(t *testing.T) string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.N(10_000))
		reserved, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		t.Cleanup(func() { reserved.Close() })
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
}

// The scripts run the command as a user does, and check exit code, stdout and stderr.
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
			env.Setenv("NATS", freeAddress(t))
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "PATH"} { // for scenarios that build programs
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
			if name == "quick" {
				return quicktest.On(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// terminate sends SIGTERM to the background commands.
			"terminate": func(ts *testscript.TestScript, _ bool, _ []string) {
				for _, c := range ts.BackgroundCmds() {
					c.Process.Signal(syscall.SIGTERM)
				}
			},
			// await FILE waits until the file exists.
			"await": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, err := os.Stat(ts.MkAbs(args[0])); err != nil; _, err = os.Stat(ts.MkAbs(args[0])) {
					time.Sleep(time.Millisecond)
				}
			},
			// serve [tls] STATUS [BODY] starts a server at $URL that answers everything with a
			// status. It never answers /hang, and then makes a file "asked".
			"serve": func(ts *testscript.TestScript, _ bool, args []string) {
				secure, body := args[0] == "tls", ""
				if secure {
					args = args[1:]
				}
				if len(args) > 1 {
					body = args[1]
				}
				status, err := strconv.Atoi(args[0])
				ts.Check(err)
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/hang" {
						io.Copy(io.Discard, r.Body) // the server notices the end of the connection only after it has read the body
						os.WriteFile(ts.MkAbs("asked"), nil, 0o600)
						<-r.Context().Done()
					}
					w.WriteHeader(status)
					io.WriteString(w, body)
				}))
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
				if secure {
					s.StartTLS()
				} else {
					s.Start()
				}
				ts.Defer(s.Close)
				ts.Setenv("URL", s.URL)
			},
			// validates NAME checks that stdout is an object as the published schema NAME
			// describes it.
			"validates": func(ts *testscript.TestScript, _ bool, args []string) {
				var o map[string]any
				ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &o))
				if len(args) != 1 || schemaOf(o) != args[0] {
					ts.Fatalf("stdout is of schema %q, want %v", schemaOf(o), args)
				}
				ts.Check(validate(o))
			},
			// exits CODE[,CODE] COMMAND... checks that the command ends with that exit code, or
			// with one of these.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
				}
				err := ts.Exec(args[1], args[2:]...)
				got := 0
				if e, ok := err.(interface{ ExitCode() int }); ok {
					got = e.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
					ts.Fatalf("%v ended with %d, want %s; stderr:\n%s", args[1:], got, args[0], ts.ReadFile("stderr"))
				}
			},
		},
	})
}
