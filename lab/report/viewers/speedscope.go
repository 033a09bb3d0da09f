package viewers

import (
	"errors"
	"io"
	"slices"

	"dyno/lab/record"
)

// kinds are the profiles that are written, in order.
var kinds = []struct{ profile, value, name, unit string }{
	{record.ProfileCPU, record.ValueCPU, "CPU", "nanoseconds"},
	{record.ProfileHeap, record.ValueAllocBytes, "allocated bytes", "bytes"},
	{record.ProfileHeap, record.ValueAllocObjects, "allocated objects", "none"},
	{record.ProfileHeap, record.ValueInUseBytes, "bytes in use", "bytes"},
	{record.ProfileMutex, record.ValueDelay, "waits for locks", "nanoseconds"},
	{record.ProfileBlock, record.ValueDelay, "blocked", "nanoseconds"},
	{record.ProfileGoroutine, record.ValueGoroutines, "goroutines", "none"},
}

type file struct {
	Schema   string    `json:"$schema"`
	Exporter string    `json:"exporter"`
	Name     string    `json:"name"`
	Shared   shared    `json:"shared"`
	Profiles []sampled `json:"profiles"`
}

type shared struct {
	Frames []frame `json:"frames"`
}

type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

type sampled struct {
	Type    string    `json:"type"` // sampled
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Start   float64   `json:"startValue"`
	End     float64   `json:"endValue"`
	Samples [][]int   `json:"samples"` // frames, the root first
	Weights []float64 `json:"weights"`
}

// Speedscope writes the profiles of all runs that have some.
func Speedscope(w io.Writer, e *record.Experiment) error {
	out := file{Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "dyno", Name: e.Name, Shared: shared{Frames: []frame{}}}
	known := map[record.Frame]int{}
	number := func(f record.Frame) int {
		n, has := known[f]
		if !has {
			n = len(out.Shared.Frames)
			known[f] = n
			out.Shared.Frames = append(out.Shared.Frames, frame{f.Function, f.File, f.Line})
		}
		return n
	}
	for _, r := range e.Runs {
		for _, k := range kinds {
			p, err := r.Profile(k.profile, k.value)
			if err != nil {
				continue // it was not taken; the report has the reason
			}
			one := sampled{Type: "sampled", Name: r.ID + ": " + k.name, Unit: k.unit, Samples: [][]int{}, Weights: []float64{}}
			for _, s := range p.Stacks {
				if s.Value <= 0 || len(s.Frames) == 0 {
					continue
				}
				var stack []int
				for _, f := range slices.Backward(s.Frames) {
					stack = append(stack, number(f))
				}
				one.Samples, one.Weights, one.End = append(one.Samples, stack), append(one.Weights, s.Value), one.End+s.Value
			}
			if len(one.Samples) > 0 {
				out.Profiles = append(out.Profiles, one)
			}
		}
	}
	if len(out.Profiles) == 0 {
		return errors.New("no run of the experiment has a profile: dyno diagnose takes some")
	}
	return encode(w, out)
}
