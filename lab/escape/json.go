package escape

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"dyno/lab/record"
)

// siteJSON is a site with its cost per request; null: the number of requests is not known.
type siteJSON struct {
	BytesPerRequest   *float64 `json:"bytes_per_request"`
	ObjectsPerRequest *float64 `json:"objects_per_request"`
	Site
}

// Object is the JSON output of dyno escape.
type Object struct {
	Schema            string     `json:"schema"`
	Run               string     `json:"run"`
	Variant           string     `json:"variant"`
	Seconds           float64    `json:"seconds"`
	Requests          float64    `json:"requests"`
	Bytes             float64    `json:"bytes"`
	Objects           float64    `json:"objects"`
	BytesPerRequest   *float64   `json:"bytes_per_request"` // null: the number of requests is not known
	ObjectsPerRequest *float64   `json:"objects_per_request"`
	ProfilerBytes     float64    `json:"profiler_bytes"` // allocated by taking the profile
	Sites             []siteJSON `json:"sites"`
	SitesInAll        int        `json:"sites_in_all"`
	Silent            int        `json:"silent"` // lines with an escape whose allocations were not sampled
	Warnings          []string   `json:"warnings"`
}

// WriteJSON writes the top sites with the most allocated bytes, and the sums of the run.
func WriteJSON(w io.Writer, j *Joined, run *record.Run, top int) error {
	each := func(n float64) *float64 {
		if j.Requests <= 0 {
			return nil
		}
		n = j.PerRequest(n)
		return &n
	}
	sites := []siteJSON{}
	for _, s := range j.Sites[:min(top, len(j.Sites))] {
		sites = append(sites, siteJSON{each(s.Bytes), each(s.Objects), s})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(Object{
		Schema: "dyno.escape/1", Run: run.ID, Variant: run.Spec.Variant, Seconds: j.Seconds, Requests: j.Requests, Bytes: j.Bytes, Objects: j.Objects,
		BytesPerRequest: each(j.Bytes), ObjectsPerRequest: each(j.Objects), ProfilerBytes: j.Profiler,
		Sites: sites, SitesInAll: len(j.Sites), Silent: j.Silent, Warnings: j.Warnings,
	})
}

// Escapes prints the top sites with the most allocated bytes. Each has a line with its cost and
// position, and below it a line for the allocation or for each of its candidates.
func (t Terminal) Escapes(j *Joined, run *record.Run, top int) {
	per, each := "", func(n float64) float64 { return n }
	if j.Requests > 0 {
		per, each = "/request", j.PerRequest
	}
	t.line("", "%s allocated %s B%s in %s objects%s%s", run.ID, amount(each(j.Bytes)), per, amount(each(j.Objects)), per, over(j))
	t.line("", "")
	t.line(dimmed, "%12s  %15s  %6s  %s", "B"+per, "objects"+per, "share", "where")
	for _, s := range j.Sites[:min(top, len(j.Sites))] {
		t.line("", "%12s  %15s  %5.1f%%  %s:%d  %s", amount(each(s.Bytes)), amount(each(s.Objects)), 100*s.Share, shortFile(s.File), s.Line, shortFunction(s.Function))
		for _, text := range allocates(s) {
			t.line(dimmed, "%39s%s", "", text)
		}
	}
	t.line("", "")
	if more := len(j.Sites) - top; more > 0 {
		rest := 0.0
		for _, s := range j.Sites[top:] {
			rest += s.Share
		}
		t.line("", "%d more places allocate %.1f%% (--top %d)", more, 100*rest, len(j.Sites))
	}
	if j.Profiler > 0 {
		t.line("", "left out: %s B%s that taking the profile allocated", amount(each(j.Profiler)), per)
	}
	t.line("", "%d lines with an escape allocated nothing that was sampled", j.Silent)
	if j.Requests > 0 {
		t.line("", "sampled once per 512 KiB, unless the program sets another rate: figures below %s B/request are guesses", amount(j.PerRequest(fewSamples*samplePeriod)))
	}
	for _, warning := range j.Warnings {
		t.line(amber, "warning: %s", warning)
	}
}

// On average, the runtime samples one allocation per 512 KiB (runtime.MemProfileRate). A figure
// from ten samples has a relative standard deviation of a third.
const (
	samplePeriod = 512 << 10 // bytes
	fewSamples   = 10
)

func over(j *Joined) string {
	switch {
	case j.Requests <= 0:
		return ""
	case j.Seconds > 0:
		return fmt.Sprintf(", over %.0f requests in %.1f s", j.Requests, j.Seconds)
	}
	return fmt.Sprintf(", over %.0f requests", j.Requests)
}

// mostCandidates is the maximum number of escapes of a line that are printed.
const mostCandidates = 3

// allocates describes a site's allocations, one per line.
func allocates(s Site) []string {
	switch s.Kind {
	case Calling:
		text := "in " + shortFunction(s.In) + ", called here"
		if s.Mostly != s.In && s.Mostly != "" {
			text += fmt.Sprintf("; %.0f%% of it in %s", 100*s.MostPart, shortFunction(s.Mostly))
		}
		return []string{text}
	case Runtime:
		return []string{"no escape on this line: the runtime allocates (a map grows, a goroutine starts), or the source has changed"}
	case Outside:
		return []string{"outside these packages: none of them is in the stack"}
	}
	var out []string
	for i, e := range s.Escapes {
		if i == mostCandidates {
			out = append(out, fmt.Sprintf("or one of %d more on this line", len(s.Escapes)-i))
			break
		}
		text := e.What
		if i > 0 {
			text = "or " + text
		}
		if e.Why != "" {
			text += "; " + e.Why
		}
		out = append(out, text)
	}
	return out
}

// amount formats a figure with three significant digits.
func amount(n float64) string {
	switch {
	case n >= 100:
		return fmt.Sprintf("%.0f", n)
	case n >= 10:
		return fmt.Sprintf("%.1f", n)
	case n > 0 && n < 0.01:
		return "<0.01"
	}
	return fmt.Sprintf("%.2f", n)
}

// shortFile shortens an absolute path to its folder and file name.
func shortFile(file string) string {
	if path.IsAbs(file) {
		return path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	return strings.TrimPrefix(file, "./")
}

// shortFunction removes the path before the last element of a function's package, and type
// arguments.
func shortFunction(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		if end := strings.LastIndexByte(name, ']'); end > i {
			name = name[:i] + name[end+1:]
		}
	}
	head, _, _ := strings.Cut(name, "(")
	return name[strings.LastIndexByte(head, '/')+1:]
}
