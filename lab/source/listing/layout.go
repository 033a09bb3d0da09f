package listing

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dyno/lab/source/layout"
)

// LayoutJSON writes the findings.
func LayoutJSON(w io.Writer, r *layout.Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema string `json:"schema"`
		*layout.Report
	}{"dyno.layout/1", r})
}

// Layout prints the findings; left is the number of padded structs that they leave out.
func (t Terminal) Layout(r *layout.Report, left int) {
	t.line("", "%d structs, for %s/%s with cache lines of %d bytes, each assumed to begin on one", r.Structs, r.GOOS, r.GOARCH, r.LineBytes)
	for _, s := range r.Sharing {
		t.line("", "")
		t.line(bold, "%s:%d  %s", s.File, s.Line, sharedWords(s, r.LineBytes))
		for _, f := range s.Fields {
			t.line("", "  %5d  %-16s %-20s %-8s %s", f.Offset, f.Name, lastDot(f.Type), f.Use, by(f.By))
		}
		t.line(dimmed, "  try: %s", s.Advice)
	}
	if len(r.Padding) > 0 {
		t.line("", "")
		t.line(bold, "padding")
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
