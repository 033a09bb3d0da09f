package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

// feeding is a bench whose feeder is this shell script.
func feeding(script, format string) *runner {
	sc := &scenario.Scenario{}
	sc.Load.Feeder = &scenario.Feeder{Command: []string{"/bin/sh", "-c"}, Args: []string{script}, Format: format}
	return &runner{Options: Options{Scenario: sc, Progress: silent{}}}
}

func TestFeed(t *testing.T) {
	for _, c := range []struct {
		name, script, format string
		rows                 int
		says                 string // "": no error
	}{
		{"csv", "echo uid,token; echo 1,a; echo 2,b", "csv", 2, ""},
		{"ndjson", `echo '{"uid":1}'; echo '{"uid":2}'; echo '{"uid":3}'`, "ndjson", 3, ""},
		{"what it says besides", "echo working >&2; echo uid; echo 1", "csv", 1, ""},
		{"a dollar", "printf 'uid\\n$$$$\\n'", "csv", 1, ""},
		{"no rows", "echo uid", "csv", 0, "the feeder has no rows"},
		{"nothing", "true", "csv", 0, "the feeder is empty"},
		{"the wrong format", "echo uid; echo 1", "ndjson", 0, "line 1 is not a JSON object"},
		{"a failure", "echo uid; echo 1; echo out of luck >&2; exit 3", "csv", 0, "feeder ended with exit code 3; its log ends:\n\tout of luck"},
		{"a failure before anything", "echo --token=s3cret >&2; exit 1", "csv", 0, "--token=[redacted]"},
		{"no end", "echo uid; while :; do echo 1; done", "csv", 0, "more than 1000000 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no end" && quicktest.On() {
				t.Skip("-short: a shell prints a million rows, which takes seconds")
			}
			b := feeding(c.script, c.format)
			err := b.feed(t.Context())
			fault := new(ScenarioError)
			switch {
			case c.says == "" && (err != nil || b.rows.Len() != c.rows):
				t.Errorf("%v, %v", b.rows, err)
			case c.says != "" && (!errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "load.feeder /bin/sh: ") || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// A user's Ctrl-C ends a feeder that goes on, and is no fault of the scenario.
func TestFeedInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := filepath.Join(t.TempDir(), "began")
	if err := os.Mkdir(began, 0o700); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := os.Stat(began); err != nil { // the feeder has removed it
				cancel()
				return
			}
		}
	}()
	err := feeding("rmdir "+began+"; echo uid; exec sleep 600", "csv").feed(ctx)
	if fault := new(ScenarioError); !errors.Is(err, context.Canceled) || errors.As(err, &fault) {
		t.Errorf("%v", err)
	}
}

func TestFeedWithoutProgram(t *testing.T) {
	b := feeding("", "csv")
	b.Scenario.Load.Feeder.Command = []string{"no-such-feeder"}
	if err := b.feed(t.Context()); err == nil || !strings.Contains(err.Error(), "install no-such-feeder") {
		t.Errorf("%v", err)
	}
}

// What a feeder prints is sent, row by row, and stands nowhere in the experiment's folder.
func TestRowsAreNotRecorded(t *testing.T) {
	quicktest.Skip(t, "loads a server")
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.RawQuery+" "+r.Header.Get("Authorization")]++
		if r.URL.RawQuery == "uid=2" {
			http.Error(w, "not for "+r.Header.Get("Authorization"), http.StatusForbidden)
		}
	}))
	defer server.Close()
	const secret = "s3cretOfRow"
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.sh")
	if err := os.WriteFile(rows, fmt.Appendf(nil, "echo uid,token; for i in 1 2 3; do echo $i,%s$i; done", secret), 0o600); err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: rows
target: {url: "%s"}
load:
  url: "%[1]s/?uid=${row.uid}"
  headers: {Authorization: "Bearer ${row.token}"}
  feeder: {command: [/bin/sh, %q], format: csv}
  connections: 2
  schedule: {kind: constant, rate: 200}
measure: {length: 1s, warmup: 100ms}
`, server.URL, rows))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: out})
	if exp == nil || len(exp.Runs) == 0 {
		t.Fatalf("nothing was measured: %v", err)
	}
	for _, uid := range []string{"1", "2", "3"} {
		if n := seen["uid="+uid+" Bearer "+secret+uid]; n < 10 {
			t.Errorf("row %s was sent %d times: %v", uid, n, seen)
		}
	}
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds a row's secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
