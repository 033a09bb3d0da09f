package importer

import (
	"testing"
)

func FuzzURLs(f *testing.F) {
	fuzzReader(f, readURLs, "urls/input.txt")
}
