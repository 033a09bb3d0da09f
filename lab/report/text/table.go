package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// intervalHead heads the column of a figure's confidence interval.
const intervalHead = "95%"

// row is a table's row; its bar is drawn after its last cell.
type row struct {
	cells []string
	share float64 // of the longest bar; below 0: none
}

// table aligns rows under a head; columns that do not fit the width are named below. The bar takes
// the remaining space.
func (t *terminal) table(head []string, number []bool, rows []row) {
	width := make([]int, len(head))
	for i, h := range head {
		head[i] = t.clean(h)
		width[i] = utf8.RuneCountInString(head[i])
	}
	for _, r := range rows {
		for i := range r.cells {
			r.cells[i] = t.clean(r.cells[i])
			width[i] = max(width[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	shown := t.fit(width, slices.ContainsFunc(rows, func(r row) bool { return r.share >= 0 }))
	write := func(cells []string, tail string, code string) {
		var b strings.Builder
		for n, i := range shown {
			if n > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cells[i]))
			if number[i] {
				b.WriteString(pad + cells[i])
			} else {
				b.WriteString(cells[i] + pad)
			}
		}
		text := b.String()
		if tail == "" {
			text = strings.TrimRight(text, " ")
		}
		t.line(t.paint(code, text) + tail)
	}
	used := -2
	for _, i := range shown {
		used += width[i] + 2
	}
	room := min(30, t.style.Width-used-2) // wider bars add no information
	write(head, "", dim)
	for _, r := range rows {
		write(r.cells, t.bar(r.share, room), "")
	}
	t.line("")
	if len(shown) < len(head) {
		var left []string
		for i, h := range head {
			if !slices.Contains(shown, i) && h != intervalHead {
				left = append(left, h)
			}
		}
		t.line(t.paint(dim, "a wider terminal also shows: "+strings.Join(left, ", ")))
	}
}

// fit chooses the columns for the width: the first two and the last always, then the others in
// order. All of them if the width is unknown.
func (t *terminal) fit(width []int, bars bool) []int {
	end := len(width) - 1
	used := width[end]
	if bars && t.style.Color && t.style.Width >= 80 {
		used += barRoom
	}
	shown := []int{}
	for i, w := range width[:end] {
		if t.style.Width > 0 && i > 1 && used+w+2 > t.style.Width {
			continue
		}
		used += w + 2
		shown = append(shown, i)
	}
	return append(shown, end)
}

// barRoom is the smallest width of the bars, the gap before them included, in columns.
const barRoom = 14

// bar draws a share of the room with blocks of an eighth of a column.
func (t *terminal) bar(share float64, room int) string {
	if !t.style.Color || room < barRoom-2 || !(share >= 0) {
		return ""
	}
	eighths := int(min(share, 1)*float64(room)*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])
	}
	return "  " + t.paint(blue, s)
}

// voteHead and voteNumbers head the table of votes.
var voteHead, voteNumbers = []string{"offered/s", "slices that met the SLO", "p99 ms (median)"}, []bool{true, true, true}

func voteCells(votes []view.VoteRow) (rows [][]string) {
	for _, v := range votes {
		rows = append(rows, []string{format.Format(v.Rate), fmt.Sprintf("%d of %d", v.Met, v.Judged), format.Format(v.P99)})
	}
	return rows
}

// The table of ramps as text.
var (
	rampHead    = []string{"rising rate", "offered/s", "accepted follows to", "delivered follows to", "inflection"}
	rampNumbers = []bool{false, true, true, true, false}
)

func rampCells(ramps []view.Ramp) (rows [][]string) {
	for _, r := range ramps {
		gave := []string{}
		for _, m := range r.Moments {
			gave = append(gave, m.Words())
		}
		if len(gave) == 0 {
			gave = []string{"none"}
		}
		rows = append(rows, []string{r.Variant, format.Format(r.From) + " to " + format.Format(r.To), r.FollowedWords(r.Accepted), r.FollowedWords(r.Delivered), strings.Join(gave, "; ")})
	}
	return rows
}

// shortHeads are the heads of a table for a terminal, and which of its columns hold numbers.
func shortHeads[T any](columns []format.Column[T]) (heads []string, numbers []bool) {
	for _, c := range columns {
		heads, numbers = append(heads, c.Short), append(numbers, c.Number)
	}
	return heads, numbers
}

// fullHeads are the heads of a table in Markdown, and which of its columns hold numbers.
func fullHeads[T any](columns []format.Column[T]) (heads []string, numbers []bool) {
	for _, c := range columns {
		heads, numbers = append(heads, c.Name()), append(numbers, c.Number)
	}
	return heads, numbers
}

// cellsOf are the rows of a table.
func cellsOf[T any](columns []format.Column[T], rows []T) (out [][]string) {
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.Cell(row))
		}
		out = append(out, cells)
	}
	return out
}
