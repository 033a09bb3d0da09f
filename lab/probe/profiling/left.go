package profiling

import (
	"context"
	"os"
	"path/filepath"
	"slices"
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
// Inspect took under load. If the number of goroutines grew between them, Left looks until most of
// that growth is gone, for ten seconds at most.
func Left(ctx context.Context, in Inspection, taken []record.ProfileFile) record.ProfileFile {
	i := &inspector{Inspection: in.withDefaults(), client: New(in.Debug)}
	defer i.client.Close()
	from, to := i.counted(taken, record.ProfileGoroStart), i.counted(taken, record.ProfileGoroutine)
	if err := i.tooMany(max(from, to)); err != nil {
		return record.ProfileFile{Kind: record.ProfileGoroLeft, Why: err.Error()}
	}
	for begun := time.Now(); ; {
		pause(ctx, leftSoon)
		encoded, err := i.fetch(ctx, pathGoroutine, pageWithin)
		if err != nil || to-from <= fewMore || goroutinesIn(encoded) <= from+(to-from)/2 || time.Since(begun) > leftUntil {
			i.enter(record.ProfileGoroLeft, encoded, 0, err)
			return i.files[0]
		}
	}
}

// counted is the number of goroutines in a profile of the run's folder; 0: there is none.
func (i *inspector) counted(taken []record.ProfileFile, kind string) int64 {
	at := slices.IndexFunc(taken, func(f record.ProfileFile) bool { return f.Kind == kind && f.File != "" })
	if at < 0 {
		return 0
	}
	encoded, err := os.ReadFile(filepath.Join(i.Dir, filepath.FromSlash(taken[at].File)))
	if err != nil {
		return 0
	}
	return goroutinesIn(encoded)
}

// goroutinesIn is the number of goroutines in an encoded profile; 0: it is none.
func goroutinesIn(encoded []byte) (sum int64) {
	p, err := profile.ParseData(encoded)
	if err != nil {
		return 0
	}
	for _, s := range p.Sample {
		sum += s.Value[0] // a parsed sample has a value per sample type, and there is at least one type
	}
	return sum
}
