package history

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"dyno/lab/report/format"
)

// Heads name the figures with their units.
var Heads = heads()

func heads() map[string]string {
	all := map[string]string{Capacity: "capacity/s", Work: "work/s", CPU: "CPU us", Allocs: "allocations"}
	for _, unit := range units {
		all[unit] = unit
	}
	return all
}

// Text prints the figures of each program over its commits, and the change points.
func Text(w io.Writer, entries []Entry) error {
	for i, name := range Names(entries) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		lines := Lines(entries, name)
		fmt.Fprintln(w, format.Visible(name))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(t, "commit\tdate")
		for _, l := range lines {
			fmt.Fprint(t, "\t"+Heads[l.Key])
		}
		fmt.Fprintln(t, "\tsubject")
		for _, e := range ordered(entries, name) {
			fmt.Fprintf(t, "%s\t%s", format.Visible(e.Revision.Short()), when(e).Format("2006-01-02"))
			for _, l := range lines {
				fmt.Fprint(t, "\t"+l.cell(e))
			}
			fmt.Fprintln(t, "\t"+format.Visible(e.Revision.Subject))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		changes := Changes(lines)
		if len(changes) == 0 {
			changes = []string{"no change point"}
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.Join(changes, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// mostShort is the number of bytes of a revision's name in a table.
const mostShort = 12

// Short is the beginning of the commit's hash, or the name of what is no commit.
func (c Commit) Short() string {
	if c.Hash == "" {
		return c.Title
	}
	return c.Hash[:min(mostShort, len(c.Hash))]
}

// text names the commit with its subject.
func (c Commit) text() string {
	if c.Subject == "" {
		return format.Visible(c.Short())
	}
	return format.Visible(c.Short() + " (" + c.Subject + ")")
}

// cell is a figure of an entry, with a mark if it changed there.
func (l Line) cell(e *Entry) string {
	for _, p := range l.Points {
		if p.Entry != e {
			continue
		}
		cell := format.Format(format.Value(p.Figure.Value))
		if p.Change != nil {
			cell += " " + p.Change.mark(l.Key)
		}
		return cell
	}
	return "-"
}

// mark shows the direction of a change, and whether it is for the better.
func (c *Change) mark(key string) string {
	if c.Worse(key) {
		return fmt.Sprintf("worse %.2fx", c.Ratio)
	}
	return fmt.Sprintf("better %.2fx", c.Ratio)
}

// Changes lists the change points, and where none can be seen.
func Changes(lines []Line) (out []string) {
	for _, l := range lines {
		for _, p := range l.Points {
			switch {
			case p.Change != nil:
				out = append(out, "change point: "+p.ChangeText(l.Key))
			case p.Unseen != "":
				out = append(out, fmt.Sprintf("not seen: whether %s changed at %s: %s", Heads[l.Key], p.Entry.Revision.text(), p.Unseen))
			}
		}
	}
	return out
}

// AllChanges lists the change points of every program.
func AllChanges(entries []Entry) []string {
	out := []string{}
	for _, name := range Names(entries) {
		for _, c := range Changes(Lines(entries, name)) {
			out = append(out, name+": "+c)
		}
	}
	return out
}
