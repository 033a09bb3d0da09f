package arena

import (
	"strings"
	"testing"
)

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Error(err)
	}
}

// Garbage collection that is off has a limit at which it begins.
func TestTune(t *testing.T) {
	c, err := Assembly().Resolve("baseline", map[string]string{"gogc": "-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := FromChoice(c).tune(); err == nil || !strings.Contains(err.Error(), "memory_limit") {
		t.Errorf("gogc=-1 alone: %v", err)
	}
}
