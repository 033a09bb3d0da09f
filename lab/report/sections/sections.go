// Package sections divides a report into sections, which consist of a few kinds of block. The
// order of the sections is the same for the terminal, Markdown and the page.
//
// Each section is made by an emitter, a function that returns an empty section if the report has
// nothing for it; the table emitters lists them. A block says what to show; packages text and html
// walk the blocks and decide how they look. The published JSON (jsonv1) is not made from sections.
// The package starts no goroutines.
package sections

import (
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
)

// Medium is a set of outputs, each of them a bit.
type Medium uint8

// The outputs.
const (
	Terminal Medium = 1 << iota
	Markdown
	Page
	Brief   // the answer of a diagnosis, on a terminal
	printed = Terminal | Markdown
	all     = printed | Page
)

// emitters make the sections, in this order.
var emitters = []struct {
	in   Medium
	emit func(*report.Report) Section
}{
	{Brief, brief},
	{all, load},
	{all, verdict},
	{all, changed},
	{Page, pairs},
	{all, steps},
	{all, scaling},
	{all, sessions},
	{all, rates},
	{all, sweep},
	{all, causes},
	{Page, flames},
	{Page, curves},
	{Page, series},
	{Page, stages},
	{all, databases},
	{Page, pauses},
	{Page, runs},
	{Page, conditions},
}

// Of returns the sections of a report that an output shows.
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

// only returns the blocks for an output, with every For replaced by its blocks.
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
	Nav   string // its name in the page's navigation; empty: Title
	// Blocks are empty if the report has nothing for the section.
	Blocks []Block
}

// Block is one of the types below.
type Block interface{ block() }

// For holds blocks that only some outputs show. The sections that Of returns contain none.
type For struct {
	In     Medium
	Blocks []Block
}

// Group holds blocks that a page shows together.
type Group struct {
	As     Layout
	Title  []Span // title of a Fold
	Class  string
	Blocks []Block
}

// Layout says how a page shows a group.
type Layout int

// The layouts.
const (
	Card  Layout = iota // in a frame
	Split               // next to each other
	Fold                // closed until the reader opens it
)

// Heading is a title within a section of a page.
type Heading struct{ Text string }

// Text is a paragraph; on a terminal, a line.
type Text struct {
	Label string // names what Spans are, as in "next"; empty: they need no name
	Spans []Span
	Class string
}

// Capital returns the label with a capital letter, for the beginning of a sentence.
func (t Text) Capital() string { return strings.ToUpper(t.Label[:1]) + t.Label[1:] }

// List is a list of texts.
type List struct {
	Label string // names what each item is, if no heading does
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
	Link  string // target within the page; empty: no link
	About string // describes the link for screen readers; empty: S does
}

// Gap returns what separates the i-th span of a text from the spans before it.
func Gap(i int, s Span) string {
	if i == 0 || strings.HasPrefix(s.S, ":") {
		return ""
	}
	return " "
}

// Classes that the outputs in text also show, if they have a form for them. All other classes
// matter to the page's style only.
const (
	Strong  = "strong"
	Dim     = "dim"
	Code    = "code"
	Warning = "warning"
)

// Table is a table. The outputs in text leave out tables without rows.
type Table struct {
	ID         string // id of its rows, for scripts; empty: none
	Name       string // the table's name for screen readers, as in "steps"
	Caption    string // title for text, which has no headings; empty: none
	Columns    []Column
	ShortHeads bool // Markdown has the same short heads as the terminal
	Rows       []Row
	Class      string
}

// Column is a column of a table; format.Column describes the fields of the same names.
type Column struct {
	Head, Unit, Short    string
	Number, Brief, Roomy bool

	Detailed bool // all outputs show the cells' details, not only the page
	Class    string
}

// Name returns the head with its unit.
func (c Column) Name() string { return format.Column[any]{Head: c.Head, Unit: c.Unit}.Name() }

// Row is a row of a table.
type Row struct {
	Cells []Cell
	Share float64 // length of the bar that a terminal draws after the row, as a share of the longest; below 0: no bar
	Title string  // shown on hover
	Note  string  // explains the row; text has it below the row
	Class string
}

// Cell is a cell of a table.
type Cell struct {
	Text    string
	Details []string // such as an interval
	Strong  string   // shown in bold before Text
	Badge   string   // class of a coloured background; empty: none
	Title   string   // shown on hover
	Link    string   // target on a server of package live; empty: no link
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

// Chart is something that a page draws; the type of Of selects the drawing.
type Chart struct{ Of any }

// Pre is preformatted text, such as a command that a reader can copy.
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

func plain(s string) []Span { return []Span{{S: s}} }

func lines(texts []string) (out []Item) {
	for _, s := range texts {
		out = append(out, Item{Spans: plain(s)})
	}
	return out
}

// tableOf makes a table with one row for each element of of, read by the columns.
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

// words makes a column of texts.
func words[T any](head string, cell func(T) string) format.Column[T] {
	return format.Column[T]{Head: head, Short: head, Cell: cell}
}

// figure makes a column of numbers.
func figure[T any](head, unit, short string, cell func(T) string) format.Column[T] {
	return format.Column[T]{Head: head, Unit: unit, Short: short, Number: true, Cell: cell}
}

// roomy makes a column one that only the page shows.
func roomy[T any](c format.Column[T]) format.Column[T] {
	c.Roomy = true
	return c
}

// number formats a figure of a record.
func number(v float64) string { return format.Format(format.Value(v)) }

// share formats a share of a record as a percentage.
func share(v float64) string { return format.Percent(format.Value(v)) }
