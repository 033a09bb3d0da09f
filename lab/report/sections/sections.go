// Package sections puts a report into sections of a few kinds of block, in one order for the
// terminal, Markdown and the page; changed functions alone stand with the steps on the page, and
// after the verdict in text.
//
// An emitter makes a section of a report, or an empty one when its evidence is absent; the table
// emitters has all of them. A block says what to show; how it looks is for text and html, which
// walk the blocks. The published JSON (jsonv1) is not made of sections. It starts no goroutines.
package sections

import (
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
)

// Medium is a set of outputs.
type Medium uint8

// The outputs.
const (
	Terminal Medium = 1 << iota
	Markdown
	Page
	printed = Terminal | Markdown
	all     = printed | Page
)

// emitters make the sections, in their order.
var emitters = []struct {
	in   Medium
	emit func(*report.Report) Section
}{
	{all, load},
	{all, verdict},
	{Page, pairs},
	{all, steps},
	{Page, changed},
	{all, scaling},
	{all, sessions},
	{all, rates},
	{all, sweep},
	{all, causes},
	{printed, changed},
	{Page, flames},
	{Page, curves},
	{Page, series},
	{Page, stages},
	{all, databases},
	{Page, pauses},
	{Page, runs},
	{Page, conditions},
}

// Of returns the sections of a report for an output.
func Of(r *report.Report, medium Medium) (out []Section) {
	for _, e := range emitters {
		if e.in&medium == 0 {
			continue
		}
		s := e.emit(r)
		if s.Blocks = only(medium, s.Blocks); len(s.Blocks) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// only resolves the blocks that are for some outputs.
func only(medium Medium, blocks []Block) (out []Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case For:
			if b.In&medium != 0 {
				out = append(out, only(medium, b.Blocks)...)
			}
		case Group:
			b.Blocks = only(medium, b.Blocks)
			out = append(out, b)
		case List:
			items := make([]Item, len(b.Items))
			for i, item := range b.Items {
				item.Blocks = only(medium, item.Blocks)
				items[i] = item
			}
			b.Items = items
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

// Section is a part of a report with a heading of its own on the page.
type Section struct {
	ID    string
	Title string
	Nav   string // in the page's navigation; empty: Title
	// Blocks are empty if the report has no evidence for the section.
	Blocks []Block
}

// Block is one of the types below.
type Block interface{ block() }

// For is blocks for some outputs only. The sections that Of returns have none.
type For struct {
	In     Medium
	Blocks []Block
}

// Group is blocks that a page shows together.
type Group struct {
	As     Layout
	Title  []Span // of a Fold
	Class  string
	Blocks []Block
}

// Layout is how a page shows a group.
type Layout int

// The layouts.
const (
	Card  Layout = iota // in a frame
	Split               // side by side
	Fold                // closed until the reader opens it
)

// Heading is a title within a section of a page.
type Heading struct {
	Level int // 3 or 4
	Text  string
}

// Text is a paragraph; on a terminal, a line.
type Text struct {
	Label string // what Spans are: "next"; empty: they need none
	Spans []Span
	Class string
}

// Capital is the label as it begins a sentence.
func (t Text) Capital() string { return strings.ToUpper(t.Label[:1]) + t.Label[1:] }

// List is a list of texts.
type List struct {
	Label string // what each item is, where that is not clear from a heading
	Items []Item
	Class string
}

// Item is an item of a list, with the blocks that explain it.
type Item struct {
	Spans  []Span
	Class  string
	Blocks []Block
}

// Span is a part of a text.
type Span struct {
	S     string
	Class string
	Link  string // within the page; empty: none
	About string // of the link, for screen readers; empty: S says it
}

// Gap is what separates the i-th part of a text from those before it.
func Gap(i int, s Span) string {
	if i == 0 || strings.HasPrefix(s.S, ":") {
		return ""
	}
	return " "
}

// Classes that text shows as well, where it has a form for them; the others are of the page's style
// alone.
const (
	Strong  = "strong"
	Dim     = "dim"
	Code    = "code"
	Warning = "warning"
)

// Table is a table. Text has none without rows.
type Table struct {
	ID         string // of its rows, for scripts; empty: none
	Name       string // of the table for screen readers: "steps"
	Caption    string // in text, which has no headings; empty: none
	Columns    []Column
	ShortHeads bool // Markdown has the heads of the terminal
	Rows       []Row
	Class      string
}

// Column is a column of a table; format.Column describes the fields of the same names.
type Column struct {
	Head, Unit, Short    string
	Number, Brief, Roomy bool

	Detailed bool // the cells' details are for all outputs, not for the page alone
	Class    string
}

// Name is the head with its unit.
func (c Column) Name() string { return format.Column[any]{Head: c.Head, Unit: c.Unit}.Name() }

// Row is a row of a table.
type Row struct {
	Cells []Cell
	Share float64 // of the longest bar that a terminal draws after the row; below 0: none
	Title string  // shown on hover
	Class string
}

// Cell is a cell of a table.
type Cell struct {
	Text    string
	Details []string // such as an interval
	Strong  string   // before Text
	Badge   string   // class of a coloured ground; empty: none
	Title   string   // shown on hover
	Class   string
	Chart   any // drawn instead of Text on a page
}

// Facts are names with their values.
type Facts struct {
	Pairs []Pair
	Class string
}

// Pair is a fact.
type Pair struct{ Name, Value, Note string }

// Chart is what a page draws; its type selects the drawing.
type Chart struct{ Of any }

// Pre is text as it stands, such as a command that a reader can copy.
type Pre struct {
	Text  string
	Class string
}

func (For) block()     {}
func (Group) block()   {}
func (Heading) block() {}
func (Text) block()    {}
func (List) block()    {}
func (Table) block()   {}
func (Facts) block()   {}
func (Chart) block()   {}
func (Pre) block()     {}

// plain is a text of one span.
func plain(s string) []Span { return []Span{{S: s}} }

// lines are the items of a list of plain texts.
func lines(texts []string) (out []Item) {
	for _, s := range texts {
		out = append(out, Item{Spans: plain(s)})
	}
	return out
}

// tableOf is the table of rows that columns read.
func tableOf[T any](name string, columns []format.Column[T], of []T) Table {
	t := Table{Name: name}
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Head: c.Head, Unit: c.Unit, Short: c.Short, Number: c.Number, Brief: c.Brief, Roomy: c.Roomy, Detailed: c.Detail != nil})
	}
	for _, one := range of {
		row := Row{Share: -1}
		for _, c := range columns {
			cell := Cell{Text: c.Cell(one)}
			if c.Detail != nil {
				cell.Details = []string{c.Detail(one)}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// words is a column of texts.
func words[T any](head string, cell func(T) string) format.Column[T] {
	return format.Column[T]{Head: head, Short: head, Cell: cell}
}

// figure is a column of numbers.
func figure[T any](head, unit, short string, cell func(T) string) format.Column[T] {
	return format.Column[T]{Head: head, Unit: unit, Short: short, Number: true, Cell: cell}
}

// roomy makes a column one of the page alone.
func roomy[T any](c format.Column[T]) format.Column[T] {
	c.Roomy = true
	return c
}

// number writes a figure of a record.
func number(v float64) string { return format.Format(format.Value(v)) }

// share writes a share of a record as a percentage.
func share(v float64) string { return format.Percent(format.Value(v)) }
