package escape

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

// An invalid run is chosen only if there is no valid one.
func TestLastProfiled(t *testing.T) {
	runs := func(texts ...string) (out []*record.Run) {
		for _, text := range texts {
			r := &record.Run{ID: text}
			r.Spec.Role, r.Spec.Variant = record.RoleProfile, text[:1]
			if strings.HasSuffix(text, "!") {
				r.Invalid = "the generator was late"
			}
			out = append(out, r)
		}
		return out
	}
	other := &record.Run{ID: "no profile"}
	other.Spec.Variant = "a"
	for _, tt := range []struct {
		runs          []*record.Run
		variant, want string
	}{
		{runs("a1", "a2"), "", "a2"},
		{runs("a1", "a2!"), "", "a1"},
		{runs("a1!", "a2!"), "", "a2!"},
		{runs("a1!", "a2", "a3!"), "", "a2"},
		{runs("a1", "b1", "a2!"), "a", "a1"},
		{append(runs("a1"), other), "", "a1"},
		{[]*record.Run{other}, "", "no profile"},
		{runs("a1"), "b", ""},
	} {
		got := ""
		if _, found := LastProfiled(tt.runs, tt.variant); found != nil {
			got = found.ID
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.variant, got, tt.want)
		}
	}
}
