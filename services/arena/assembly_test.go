package arena

import "testing"

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Error(err)
	}
}
