package importer

import (
	"os"
	"testing"
)

// fuzzReader is the fuzz test of a reader, with files of testdata as its seeds: any text gives
// requests, omissions or an error.
func fuzzReader(f *testing.F, read func([]byte) (*Load, error), files ...string) {
	for _, file := range files {
		text, err := os.ReadFile("testdata/" + file)
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

// noFiles opens none of the files that a text names.
func noFiles(string) ([]byte, error) { return nil, os.ErrNotExist }
