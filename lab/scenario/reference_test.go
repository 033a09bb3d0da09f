package scenario

import (
	"os"
	"regexp"
	"testing"
)

var example = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The scenarios in the reference are valid.
func TestReferenceExamples(t *testing.T) {
	for name, least := range map[string]int{"scenario-loads": 2, "scenario-flows": 1, "scenario-grpc": 1} {
		page, err := os.ReadFile("../../docs/reference/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		examples := example.FindAllSubmatch(page, -1)
		if len(examples) < least {
			t.Errorf("%s: %d examples", name, len(examples))
		}
		for _, e := range examples {
			if _, err := Parse("example.yaml", e[1]); err != nil {
				t.Errorf("%s: %v\n%s", name, err, e[1])
			}
		}
	}
}
