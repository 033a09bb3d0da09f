package parser

import (
	"os"
	"regexp"
	"testing"
)

var example = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The scenarios in the reference are valid.
func TestReferenceExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/scenario-loads.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllSubmatch(page, -1)
	if len(examples) < 2 {
		t.Errorf("%d examples", len(examples))
	}
	for _, e := range examples {
		if _, err := Parse("example.yaml", e[1]); err != nil {
			t.Errorf("%v\n%s", err, e[1])
		}
	}
}
