package text

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/report"
	"dyno/lab/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// only names the one report that is compared in a form: colours are the same in all reports, and
// only a diagnosis has a brief form.
var only = map[string]string{".ansi.txt": "ladder", ".brief.txt": "diagnose"}

func TestGolden(t *testing.T) {
	forms := map[string]func(io.Writer, *report.Report) error{
		".md":        Markdown,
		".txt":       func(w io.Writer, r *report.Report) error { return Terminal(w, r, Style{Explain: true}) },
		".brief.txt": func(w io.Writer, r *report.Report) error { return Terminal(w, r, Style{}) },
		".ansi.txt":  func(w io.Writer, r *report.Report) error { return Terminal(w, r, Style{Color: true, Width: 100}) },
	}
	for name, r := range reporttest.Reports() {
		for ending, write := range forms {
			if only[ending] != "" && name != only[ending] {
				continue
			}
			t.Run(name+ending, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got, r); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", name+ending)
				if *update {
					if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatalf("%v; go test ./lab/report/text -update writes it", err)
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("differs from %s; look at it, and if it is right: go test ./lab/report/text -run TestGolden -update\ngot:\n%s", path, got.Bytes())
				}
			})
		}
	}
}
