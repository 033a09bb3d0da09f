package har

import (
	"testing"

	"dyno/lab/importer/foreign"
	"dyno/lab/importer/foreign/foreigntest"
)

func FuzzRead(f *testing.F) {
	read := func(text []byte) (*foreign.Load, error) { return Read(text, foreigntest.NoFiles) }
	foreigntest.Fuzz(f, read, "har/input.har", "har-flow/input.har")
}
