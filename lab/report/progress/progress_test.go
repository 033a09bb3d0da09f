package progress

import (
	"os"
	"strings"
	"testing"

	"dyno/lab/record"
)

// TestProgressOfSlices: only a slice that was judged met the SLO or missed it.
func TestProgressOfSlices(t *testing.T) {
	for _, c := range []struct {
		slice record.Slice
		want  string
	}{
		{record.Slice{Kind: record.SliceSLO, Rate: 900, Met: true}, "met the SLO at 900/s"},
		{record.Slice{Kind: record.SliceSLO, Rate: 900}, "missed the SLO at 900/s"},
		{record.Slice{Kind: record.SliceSLO, Rate: 90, Inconclusive: "30 requests completed"}, "not judged at 90/s: 30 requests completed"},
		{record.Slice{Kind: record.SliceSLO, Rate: 90, Limited: "it lagged"}, "not judged at 90/s: it lagged"},
		{record.Slice{Kind: record.SliceWork, Invalid: "the target stopped"}, "the target stopped"},
	} {
		out, err := os.CreateTemp(t.TempDir(), "progress")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		c.slice.Block, c.slice.Variant = 1, "v"
		New(out).Slice(c.slice, 0)
		said, err := os.ReadFile(out.Name())
		if err != nil || !strings.Contains(string(said), " v "+c.want) {
			t.Errorf("got %q, %v; want %q", said, err, c.want)
		}
	}
}
