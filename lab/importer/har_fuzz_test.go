package importer

import (
	"testing"
)

func FuzzHAR(f *testing.F) {
	read := func(text []byte) (*Load, error) { return readHAR(text, noFiles) }
	fuzzReader(f, read, "har/input.har", "har-flow/input.har")
}
