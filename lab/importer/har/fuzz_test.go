package har

import (
	"testing"

	"dyno/lab/importer/foreign/foreigntest"
)

func FuzzRead(f *testing.F) {
	foreigntest.Fuzz(f, Read, "har/input.har", "har-flow/input.har")
}
