package diagnose

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// The text does not recommend --debug if the debug address was given and refused.
func TestRefusedDebugAddress(t *testing.T) {
	const refused = "the debug address gave no profiles: http://h/debug/pprof/ answered 403 Forbidden"
	for _, seen := range []bool{true, false} {
		r := &record.Run{Target: record.Target{DebugRefused: []string{refused}}}
		r.System.Seen = seen
		e := &evidence{}
		e.noteUnseen(r, nil)
		if said := strings.Join(e.unseen, "; "); !slices.Contains(e.unseen, refused) || strings.Contains(said, "--debug") {
			t.Errorf("process seen %v: %s", seen, said)
		}
	}
}
