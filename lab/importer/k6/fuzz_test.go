package k6

import (
	"os"
	"testing"
)

// FuzzRead: any text gives requests, omissions or an error.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"k6/input.js"} {
		text, err := os.ReadFile("../testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		load, err := Read(text)
		if (load == nil) == (err == nil) {
			t.Fatalf("a load %v and an error %v", load, err)
		}
		if load != nil && len(load.Requests)+len(load.Left) == 0 && true {
			t.Error("it says neither what it took nor what it left out")
		}
	})
}
