// Package foreigntest is the fuzz test that all readers of other tools' loads share.
//
// It is for their tests only. It starts no goroutines.
package foreigntest

import (
	"os"
	"testing"

	"dyno/lab/importer/foreign"
)

// Fuzz begins with files of the importer's testdata, as named from a reader's folder: any text
// gives requests, omissions or an error.
func Fuzz(f *testing.F, read func([]byte) (*foreign.Load, error), files ...string) {
	for _, file := range files {
		text, err := os.ReadFile("../testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		load, err := read(text)
		if (load == nil) == (err == nil) {
			t.Fatalf("a load %v and an error %v", load, err)
		}
		if load != nil && len(load.Requests)+len(load.Left) == 0 {
			t.Error("it says neither what it took nor what it left out")
		}
	})
}

// NoFiles opens none of the files that a text names.
func NoFiles(string) ([]byte, error) { return nil, os.ErrNotExist }
