package escape

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// longestLine is the maximum number of bytes of a line that are read. For a function that it
// inlines, the compiler prints the whole body, which is not needed.
const longestLine = 64 << 10

// mostEscapes is the maximum number of escapes kept for a line of source.
const mostEscapes = 64

// Parse reads the compiler's output under -m or -m=2, as the go command passes it on. It skips
// unknown lines: the format is the compiler's, and may get new ones.
func Parse(r io.Reader) (*Listing, error) {
	p := &parser{listing: &Listing{lines: map[place]*line{}, files: map[place]string{}}}
	in := bufio.NewReaderSize(r, longestLine)
	for {
		text, more, err := in.ReadLine()
		if err == nil {
			p.line(string(text))
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if errors.Is(err, io.EOF) {
			p.finish()
			return p.listing, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the compiler's output: %w", err)
		}
	}
}

// parser is the state while the compiler's output is read.
type parser struct {
	listing *Listing
	pkg     string
	open    *explained // the explanation being read; nil: none
}

// explained is an escape with its explanation so far. -m=2 prints explanations before the plain
// diagnostics.
type explained struct {
	at     position
	escape Escape
}

// position is the position of a diagnostic.
type position struct {
	file      string
	line, col int
}

func (p *parser) line(text string) {
	if pkg, ok := strings.CutPrefix(text, "# "); ok {
		p.finish()
		p.pkg, _, _ = strings.Cut(pkg, " ")
		return
	}
	at, said, ok := splitPosition(text)
	if !ok {
		return
	}
	if step, ok := strings.CutPrefix(said, "    from "); ok {
		p.step(at, step)
		return
	}
	if strings.HasPrefix(said, " ") {
		return
	}
	p.finish()
	switch {
	case strings.HasPrefix(said, "inlining call to "):
		p.inlined(at, strings.TrimPrefix(said, "inlining call to "))
	case strings.HasPrefix(said, "moved to heap: "), strings.HasSuffix(said, " escapes to heap"), strings.Contains(said, " escapes to heap: "):
		p.add(at, Escape{Column: at.col, What: said})
	default:
		if what, _, ok := cutLast(said, " escapes to heap in "); ok && strings.HasSuffix(said, ":") {
			p.open = &explained{at: at, escape: Escape{Column: at.col, What: what + " escapes to heap"}}
		}
	}
}

// step parses a step of an explanation, such as "return &n (return) at main.go:22:32". The reason
// for the escape is the last step other than spilling or taking an address.
func (p *parser) step(at position, text string) {
	if p.open == nil || at != p.open.at {
		return
	}
	text, where, _ := cutLast(text, " at ")
	what, kind, ok := cutLast(strings.TrimSuffix(text, ")"), " (")
	if !ok || kind == "spill" || kind == "address-of" {
		return
	}
	why := kind
	if what+" escapes to heap" != p.open.escape.What {
		why += ": " + what
	}
	if to, _, ok := splitPosition(where + ": "); ok && (to.file != at.file || to.line != at.line) {
		why += fmt.Sprintf(" (line %d)", to.line)
	}
	p.open.escape.Why = why
}

// finish stores the explanation that was being read.
func (p *parser) finish() {
	if p.open != nil {
		p.add(p.open.at, p.open.escape)
		p.open = nil
	}
}

// add stores an escape. The plain diagnostic that follows an explanation repeats its escape. Only
// "moved to heap" is more precise, and replaces it.
func (p *parser) add(at position, e Escape) {
	entry := p.listing.at(p.pkg, at)
	same := slices.IndexFunc(entry.escapes, func(have Escape) bool { return have.Column == e.Column && have.Why != "" })
	if name, ok := strings.CutPrefix(e.What, "moved to heap: "); ok {
		same = slices.IndexFunc(entry.escapes, func(have Escape) bool {
			return have.Column == e.Column && have.What == name+" escapes to heap"
		})
		if same >= 0 {
			entry.escapes[same].What = e.What
			return
		}
	}
	switch {
	case same >= 0 && e.Why == "":
	case slices.ContainsFunc(entry.escapes, func(have Escape) bool { return have.Column == e.Column && have.What == e.What }):
	case len(entry.escapes) < mostEscapes:
		entry.escapes = append(entry.escapes, e)
	}
}

func (p *parser) inlined(at position, function string) {
	entry := p.listing.at(p.pkg, at)
	_, name := splitSymbol(function)
	if columns := entry.inlined[name]; len(columns) < mostEscapes && !slices.Contains(columns, at.col) {
		entry.inlined[name] = append(columns, at.col)
	}
}

// splitPosition splits "file.go:12:34: text" into its position and its text.
func splitPosition(text string) (position, string, bool) {
	start := 0
	if len(text) > 2 && text[1] == ':' { // a drive letter
		start = 2
	}
	i := strings.Index(text[start:], ".go:")
	if i < 0 {
		return position{}, "", false
	}
	i += start + len(".go")
	lineText, rest, ok := strings.Cut(text[i+1:], ":")
	if !ok {
		return position{}, "", false
	}
	colText, said, ok := strings.Cut(rest, ": ")
	if !ok {
		return position{}, "", false
	}
	line, err1 := strconv.Atoi(lineText)
	col, err2 := strconv.Atoi(colText)
	if err1 != nil || err2 != nil || line < 1 || col < 0 {
		return position{}, "", false
	}
	return position{text[:i], line, col}, said, true
}

// cutLast is strings.Cut around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
