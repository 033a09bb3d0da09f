package jsonv1

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the published JSON byte by byte: keys may be added, never changed.
func TestGolden(t *testing.T) {
	for name, r := range reporttest.Reports() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := Write(&got, r); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; go test ./lab/report/jsonv1 -update writes it", err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("differs from %s; look at it, and if it is right: go test ./lab/report/jsonv1 -run TestGolden -update\ngot:\n%s", path, got.Bytes())
			}
		})
	}
}
