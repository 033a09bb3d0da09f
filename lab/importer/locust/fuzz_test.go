package locust

import (
	"testing"

	"dyno/lab/importer/foreign/foreigntest"
)

func FuzzRead(f *testing.F) {
	foreigntest.Fuzz(f, Read, "locust/input.py", "locust-flow/input.py")
}
