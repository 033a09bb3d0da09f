package k6

import (
	"testing"

	"dyno/lab/importer/foreign/foreigntest"
)

func FuzzRead(f *testing.F) {
	foreigntest.Fuzz(f, Read, "k6/input.js", "k6-flow/input.js")
}
