package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"dyno/lab/report/text"
	"dyno/lab/source/layout"

	"github.com/spf13/cobra"
)

func newLayout() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "layout PACKAGES...",
		Short: "List struct fields that share a cache line, and memory that padding wastes",
		Long: `Layout reads source and lists struct fields on one cache line that different functions write
(locks, atomics, counters), array elements that share a line like that, fields that are only read beside one that is written,
and structs that would be smaller in another order. GOOS and GOARCH select the machine; generated files and
tests are left out.

It sees neither how often nor from how many cores a field is written: its findings are candidates. Change one, and
check with dyno compare whether it made a difference.`,
		Example: `  dyno layout ./...
  dyno layout --all ./parts/wheel
  GOARCH=386 dyno layout ./...
  dyno layout --json ./... | jq '.sharing[] | select(.kind == "neighbours")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := layout.Examine(cmd.Context(), "", args...)
			if err != nil {
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				return &exit{exitUsage, err}
			}
			found := len(r.Padding)
			r.Padding = slices.DeleteFunc(r.Padding, func(pad layout.Padding) bool { return !all && !worthwhile(pad) })
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(struct {
					Schema string `json:"schema"`
					*layout.Report
				}{"dyno.layout/1", r})
			}
			printLayout(cmd.OutOrStdout(), r, found-len(r.Padding), styleOf(os.Stdout))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&all, "all", false, "list every struct that padding makes larger, not only those that lose a word and a tenth")
	return cmd
}

// worthwhile reports whether another order saves at least a word and a tenth of the struct: less
// changes neither the number of cache lines nor the allocator's size class of most structs.
func worthwhile(p layout.Padding) bool { return p.Waste() >= 8 && 10*p.Waste() >= p.Size }

// printLayout prints the findings; left is the number of padded structs that it leaves out.
func printLayout(w io.Writer, r *layout.Report, left int, style text.Style) {
	t := &listing{w: w, style: style}
	t.line("", "%d structs, for %s/%s with cache lines of %d bytes, each assumed to begin on one", r.Structs, r.GOOS, r.GOARCH, r.LineBytes)
	for _, s := range r.Sharing {
		t.line("", "")
		t.line("1", "%s:%d  %s", s.File, s.Line, sharedWords(s, r.LineBytes))
		for _, f := range s.Fields {
			t.line("", "  %5d  %-16s %-20s %-8s %s", f.Offset, f.Name, lastDot(f.Type), f.Use, by(f.By))
		}
		t.line(dimmed, "  try: %s", s.Advice)
	}
	if len(r.Padding) > 0 {
		t.line("", "")
		t.line("1", "padding")
	}
	for _, p := range r.Padding {
		t.line("", "  %s:%d  %s: %d bytes%s, %d in the order %s", p.File, p.Line, p.Struct, p.Size, oneWord(p.Generic), p.Best, strings.Join(p.Order, ", "))
	}
	t.line("", "")
	if left > 0 {
		t.line("", "structs that lose a few bytes to padding and are not listed (--all): %d", left)
	}
	if len(r.Sharing) == 0 {
		t.line("", "no cache line is shared by fields with different writers")
		return
	}
	t.line("", "shared lines: %d, read from source; only a measurement shows whether one costs anything (dyno compare)", len(r.Sharing))
}

func sharedWords(s layout.Sharing, line int64) string {
	size := fmt.Sprintf("%d bytes%s", s.Size, oneWord(s.Generic))
	first := s.CacheLine * line
	switch s.Kind {
	case layout.Neighbours:
		return fmt.Sprintf("%s: elements of %s share lines", s.Struct, size)
	case layout.Writers:
		return fmt.Sprintf("%s (%s): bytes %d-%d are written from different functions", s.Struct, size, first, min(first+line, s.Size)-1)
	}
	return fmt.Sprintf("%s (%s): bytes %d-%d are read beside what is written", s.Struct, size, first, min(first+line, s.Size)-1)
}

func oneWord(generic bool) string {
	if generic {
		return " (type arguments of one word)"
	}
	return ""
}

// mostNames bounds the functions that are named in a line.
const mostNames = 4

func by(names []string) string {
	if len(names) > mostNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
	}
	return strings.Join(names, ", ")
}

// lastDot shortens a type's package paths to the last element, and a struct or function type to
// its start.
func lastDot(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && !strings.ContainsAny(name, "[{( ") {
		return name[i+1:]
	}
	if r := []rune(name); len(r) > 20 {
		return string(r[:17]) + "..."
	}
	return name
}
