package history

import (
	"fmt"

	"dyno/lab/report/format"
)

// Worse reports whether a figure is worse since the change.
func (c *Change) Worse(key string) bool { return (c.Ratio > 1) != (Better(key) > 0) }

// Regression returns the last change point of a line if the figure is worse since then; nil: it is
// not, or is better again.
func (l Line) Regression() *Point {
	for i := len(l.Points) - 1; i >= 0; i-- {
		if p := &l.Points[i]; p.Change != nil {
			if p.Change.Worse(l.Key) {
				return p
			}
			return nil
		}
	}
	return nil
}

// ChangeText says at which revision a figure changed, from what to what, and the ratio of the
// change.
func (p *Point) ChangeText(key string) string {
	text := fmt.Sprintf("%s at %s: %s%s", Heads[key], p.Entry.Revision.text(), p.Change.mark(key), format.Space(format.BetweenRatios(format.IntervalOf(&p.Change.Interval))))
	if p.Before == nil {
		return text
	}
	return fmt.Sprintf("%s, from %s with %s to %s", text, format.Format(format.Value(p.Before.Value)), format.Visible(p.Entry.Against.Short()), format.Format(format.Value(p.Figure.Value)))
}
