package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"dyno/lab/record"
	"dyno/lab/report/text"
	"dyno/lab/source/escape"

	"github.com/spf13/cobra"
)

func newEscape() *cobra.Command {
	var (
		asJSON  bool
		variant string
		top     int
	)
	cmd := &cobra.Command{
		Use:   "escape [PACKAGES...] RUN",
		Short: "List the escapes with their cost per request",
		Long: `Escape joins the compiler's messages about escapes (go build -gcflags=-m=2) with the allocations of a run, and
lists the places that allocate most per request: what escapes there and why, or which function outside the
packages allocates on behalf of that line.

RUN is the folder of an experiment in which an allocation profile was taken, as dyno diagnose writes it.
PACKAGES are patterns of the go command, seen from the working directory (default ./...); they are compiled
as they are now, so check out the revision that ran. GOFLAGS applies (-tags, for instance).`,
		Example: `  dyno escape ./... dyno-out/notify-20260102-150405
  dyno escape --top 5 --variant tuned ./services/... dyno-out/notify-20260102-150405
  dyno escape --json dyno-out/notify-20260102-150405 | jq '.sites[0]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return usage("--top takes 1 or more, not %d", top)
			}
			patterns, run, err := profiledRun(args, variant)
			if err != nil {
				return err
			}
			bytes, err := run.Profile(record.ProfileHeap, record.ValueAllocBytes)
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			objects, err := run.Profile(record.ProfileHeap, record.ValueAllocObjects)
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			listing, err := escape.Compile(cmd.Context(), "", patterns...)
			if err != nil {
				return &exit{exitUsage, err}
			}
			joined := escape.Join(listing, bytes, objects)
			if run.Invalid != "" {
				joined.Warnings = append(joined.Warnings, "the run does not count: "+run.Invalid)
			}
			if asJSON {
				return printEscapesJSON(cmd.OutOrStdout(), joined, run, top)
			}
			printEscapes(cmd.OutOrStdout(), joined, run, top, styleOf(os.Stdout))
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.StringVar(&variant, "variant", "", "the variant whose profile is read (default: the last one that has one)")
	f.IntVar(&top, "top", 30, "maximum number of places in the list")
	return cmd
}

// howToProfile says how to get an allocation profile.
const howToProfile = "`dyno diagnose SCENARIO|URL` takes one and prints the folder"

// profiledRun finds the run in the last argument; the arguments before it are packages.
func profiledRun(args []string, variant string) ([]string, *record.Run, error) {
	if len(args) == 0 {
		return nil, nil, usage("escape needs the folder of a run with an allocation profile; %s", howToProfile)
	}
	patterns, dir := args[:len(args)-1], args[len(args)-1]
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	exp, err := record.Open(dir)
	if err != nil {
		return nil, nil, usage("the last argument must be the folder of a run with an allocation profile: %w; %s", err, howToProfile)
	}
	have, found := lastProfiled(exp.Runs, variant)
	switch {
	case len(have) == 0:
		return nil, nil, fmt.Errorf("no run in %s has profiles; %s", dir, howToProfile)
	case found == nil:
		return nil, nil, usage("no variant %q was profiled in %s; profiled variants are %s", variant, dir, strings.Join(have, ", "))
	}
	return patterns, found, nil
}

// lastProfiled returns the last valid profiled run of a variant (empty: of any), else the last
// one, and the profiled variants.
func lastProfiled(runs []*record.Run, variant string) (have []string, found *record.Run) {
	for _, r := range runs {
		if r.Step.Role != record.RoleProfile && len(runs) > 1 {
			continue
		}
		if !slices.Contains(have, r.Step.Variant) {
			have = append(have, r.Step.Variant)
		}
		counts := r.Invalid == "" || found == nil || found.Invalid != ""
		if counts && (variant == "" || r.Step.Variant == variant) {
			found = r
		}
	}
	return have, found
}

// siteJSON is a site with its cost per request, null if that is not known.
type siteJSON struct {
	BytesPerRequest   *float64 `json:"bytes_per_request"`
	ObjectsPerRequest *float64 `json:"objects_per_request"`
	escape.Site
}

func printEscapesJSON(w io.Writer, j *escape.Joined, run *record.Run, top int) error {
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
	return enc.Encode(map[string]any{
		"schema": "dyno.escape/1", "run": run.ID, "variant": run.Step.Variant,
		"seconds": j.Seconds, "requests": j.Requests, "bytes": j.Bytes, "objects": j.Objects,
		"bytes_per_request": each(j.Bytes), "objects_per_request": each(j.Objects), "profiler_bytes": j.Profiler,
		"sites": sites, "sites_in_all": len(j.Sites), "silent": j.Silent, "warnings": j.Warnings,
	})
}

// printEscapes prints two lines per place: its cost and position, and the allocation.
func printEscapes(w io.Writer, j *escape.Joined, run *record.Run, top int, style text.Style) {
	t := &listing{w: w, style: style}
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
		t.line("33", "warning: %s", warning)
	}
}

// The runtime samples an allocation per 512 KiB on average (runtime.MemProfileRate). Ten samples
// have a standard deviation of a third.
const (
	samplePeriod = 512 << 10 // bytes
	fewSamples   = 10
)

func over(j *escape.Joined) string {
	switch {
	case j.Requests <= 0:
		return ""
	case j.Seconds > 0:
		return fmt.Sprintf(", over %.0f requests in %.1f s", j.Requests, j.Seconds)
	}
	return fmt.Sprintf(", over %.0f requests", j.Requests)
}

// mostCandidates bounds the escapes of one line that are listed.
const mostCandidates = 3

// allocates describes a site's allocations, one per line.
func allocates(s escape.Site) []string {
	switch s.Kind {
	case escape.Calling:
		text := "in " + shortFunction(s.In) + ", called here"
		if s.Mostly != s.In && s.Mostly != "" {
			text += fmt.Sprintf("; %.0f%% of it in %s", 100*s.MostPart, shortFunction(s.Mostly))
		}
		return []string{text}
	case escape.Runtime:
		return []string{"no escape on this line: the runtime allocates (a map grows, a goroutine starts), or the source has changed"}
	case escape.Outside:
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

// shortFile shortens an absolute path to the part that distinguishes files.
func shortFile(file string) string {
	if path.IsAbs(file) {
		return path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	return strings.TrimPrefix(file, "./")
}

// shortFunction removes the folders of a function's package, and type arguments.
func shortFunction(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		if end := strings.LastIndexByte(name, ']'); end > i {
			name = name[:i] + name[end+1:]
		}
	}
	head, _, _ := strings.Cut(name, "(")
	return name[strings.LastIndexByte(head, '/')+1:]
}

// listing prints lines that fit a terminal.
type listing struct {
	w     io.Writer
	style text.Style
}

const dimmed = "2" // ECMA-48 SGR, as is 33: amber

// line prints a line, cut to the terminal's width; text from a profile or the compiler can
// neither change colours nor move the cursor.
func (t *listing) line(code, format string, args ...any) {
	text := []rune(strings.TrimRight(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, fmt.Sprintf(format, args...)), " "))
	if t.style.Width > 4 && len(text) > t.style.Width {
		text = append(text[:t.style.Width-3], '.', '.', '.')
	}
	if code != "" && t.style.Color {
		fmt.Fprintf(t.w, "\x1b[%sm%s\x1b[0m\n", code, string(text))
		return
	}
	fmt.Fprintln(t.w, string(text))
}
