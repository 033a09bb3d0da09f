package experiment

import (
	"testing"

	"dyno/lab/scenario"
)

// A program's ready.url may be made of its own ready line, which has not come when it is started.
func TestReadyURLKnowsItsOwnLine(t *testing.T) {
	s := &stand{bench: &bench{}, fields: map[string]string{}}
	spec, err := s.process("target", scenario.Process{Command: []string{"x"},
		Ready: scenario.Ready{Line: true, URL: "http://${target.listen}/healthz"}})
	if err != nil {
		t.Fatal(err)
	}
	url, err := spec.ReadyURL(map[string]string{"listen": "127.0.0.1:1"})
	if err != nil || url != "http://127.0.0.1:1/healthz" {
		t.Errorf("asks %q, %v", url, err)
	}
	if _, err := (&stand{bench: &bench{}, fields: map[string]string{}}).expand("x", "${target.listen}"); err == nil {
		t.Error("a field of nobody's was expanded")
	}
}
