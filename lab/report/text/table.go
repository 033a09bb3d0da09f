package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dyno/lab/report/sections"
)

// intervalHead is the head of the column with a figure's confidence interval.
const intervalHead = "95%"

// table prints rows aligned under a head; intervals have columns of their own. Columns that do
// not fit the width are listed below the table. Bars take the remaining space.
func (t *terminal) table(of sections.Table) {
	of = narrow(of)
	if of.Caption != "" {
		t.line(t.paint(sections.Strong, t.clean(strings.ToLower(of.Caption))))
	}
	var head []string
	var number []bool
	for _, c := range of.Columns {
		head, number = append(head, t.clean(c.Short)), append(number, c.Number)
		if c.Detailed && !c.Brief {
			head, number = append(head, intervalHead), append(number, false)
		}
	}
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = utf8.RuneCountInString(h)
	}
	rows := make([][]string, len(of.Rows))
	for n, r := range of.Rows {
		for i, c := range of.Columns {
			rows[n] = append(rows[n], t.clean(r.Cells[i].Text))
			if c.Detailed && !c.Brief {
				rows[n] = append(rows[n], t.clean(r.Cells[i].Details[0]))
			}
		}
		for i, cell := range rows[n] {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	shown := t.fit(width, slices.ContainsFunc(of.Rows, func(r sections.Row) bool { return r.Share >= 0 }))
	write := func(cells []string, tail string, class string) {
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
		t.line(t.paint(class, text) + tail)
	}
	used := -2
	for _, i := range shown {
		used += width[i] + 2
	}
	room := min(30, t.style.Width-used-2) // wider bars would add no information
	write(head, "", sections.Dim)
	for n, r := range of.Rows {
		write(rows[n], t.bar(r.Share, room), "")
		if r.Note != "" {
			t.below(r.Note)
		}
	}
	t.line("")
	if len(shown) < len(head) {
		var left []string
		for i, h := range head {
			if !slices.Contains(shown, i) && h != intervalHead {
				left = append(left, h)
			}
		}
		t.line(t.paint(sections.Dim, "a wider terminal also shows: "+strings.Join(left, ", ")))
	}
}

// fit chooses the columns for the terminal's width: always the first two and the last, and as
// many of the others, in order, as fit. If the width is unknown, it chooses all.
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

// barRoom is the smallest width of the bars in columns, including the gap before them.
const barRoom = 14

// bar draws a bar that takes a share of the room, with a resolution of an eighth of a column.
func (t *terminal) bar(share float64, room int) string {
	if !t.style.Color || room < barRoom-2 || !(share >= 0) {
		return ""
	}
	eighths := int(min(share, 1)*float64(room)*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])
	}
	return "  " + t.paint(label, s)
}
