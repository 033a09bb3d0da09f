package profiling

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"dyno/lab/record"
)

// How Left waits for goroutines that end some time after their requests, such as those that sleep
// before they clean up.
const (
	leftSoon  = 500 * time.Millisecond // from the end of the load to the first look, and between two
	leftUntil = 10 * time.Second
	// fewMore is a growth during the load that is no reason to wait: connections come and go.
	fewMore = 20
)

// Left takes a goroutine profile after the load has ended: what is still there then has leaked,
// while goroutines that requests started and waited for are gone. taken are the profiles that
// Inspect took under load. If the number of goroutines with some stack grew between them, Left
// looks until most of each such growth is gone, for ten seconds at most.
func Left(ctx context.Context, in Inspection, taken []record.ProfileFile) record.ProfileFile {
	i := &inspector{Inspection: in.withDefaults(), client: New(in.Debug)}
	defer i.client.Close()
	most := map[string]int64{} // goroutines of each stack that grew, when most of its growth is gone
	before := i.counted(taken, record.ProfileGoroStart)
	for stack, n := range i.counted(taken, record.ProfileGoroutine) {
		if n-before[stack] > fewMore {
			most[stack] = before[stack] + (n-before[stack])/2
		}
	}
	for begun := time.Now(); ; {
		pause(ctx, leftSoon)
		encoded, err := i.fetch(ctx, pathGoroutine, pageWithin)
		if err != nil || time.Since(begun) > leftUntil || !above(goroutinesOf(encoded), most) {
			i.enter(record.ProfileGoroLeft, encoded, 0, err)
			return i.files[0]
		}
	}
}

// above reports whether the number of goroutines of some stack is above its bound.
func above(now, most map[string]int64) bool {
	for stack, n := range most {
		if now[stack] > n {
			return true
		}
	}
	return false
}

// counted counts the goroutines in a profile of the run's folder by stack; nil: there is none.
func (i *inspector) counted(taken []record.ProfileFile, kind string) map[string]int64 {
	at := slices.IndexFunc(taken, func(f record.ProfileFile) bool { return f.Kind == kind && f.File != "" })
	if at < 0 {
		return nil
	}
	encoded, err := os.ReadFile(filepath.Join(i.Dir, filepath.FromSlash(taken[at].File)))
	if err != nil {
		return nil
	}
	return goroutinesOf(encoded)
}

// goroutinesOf counts the goroutines in an encoded profile by stack; nil: it is no profile.
func goroutinesOf(encoded []byte) map[string]int64 {
	p, err := profile.ParseData(encoded)
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for _, s := range p.Sample {
		var stack strings.Builder
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					fmt.Fprintf(&stack, "%s:%d;", line.Function.Name, line.Line)
				}
			}
		}
		out[stack.String()] += s.Value[0] // a parsed sample has a value per sample type, and there is at least one type
	}
	return out
}
