package experiment

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

// The rows that a feeder prints are sent one by one, and occur nowhere in the experiment's
// folder.
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
