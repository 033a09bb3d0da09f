package importer

import (
	"testing"
)

func FuzzVegeta(f *testing.F) {
	read := func(text []byte) (*Load, error) { return readVegeta(text, noFiles) }
	fuzzReader(f, read, "vegeta/input.txt", "vegeta-json/input.json")
}
