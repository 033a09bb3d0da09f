package corpus

import (
	"errors"
	"fmt"
)

// countRows sets the number of rows that each request uses up.
func (p *parsed) countRows() {
	if p.body.has(partRow) {
		p.rows = max(p.Body.Copies, 1)
	}
	for _, t := range p.header {
		if t.has(partRow) {
			p.rows = max(p.rows, 1)
		}
	}
	if p.path.has(partRow) {
		p.rows = max(p.rows, 1)
	}
}

// errNoMore is the error of a load whose rows or bodies are each sent once, when none is left.
var errNoMore = errors.New("no row or body is left")

// checkOnce returns an error if there are fewer rows than one request takes, or if no request
// takes a row or a prebuilt body.
func (b *builder) checkOnce() error {
	uses := false
	for i, c := range b.classes {
		if c.rows > 0 && c.rows > b.spec.Rows.Len() {
			return fmt.Errorf("%s: a request takes %d rows, and the feeder has %d", nameOf(c.Request, i), c.rows, b.spec.Rows.Len())
		}
		uses = uses || c.rows > 0 || len(c.prebuilt) > 0
	}
	if !uses {
		return errors.New("nothing in the requests is taken from a feeder or a corpus, so that nothing can be sent once: write ${row.NAME}")
	}
	return nil
}

// takeRows chooses the first row of a request; it returns errNoMore if too few rows, or no body,
// are left.
func (b *builder) takeRows(p *parsed, i int) error {
	b.row, b.key = i, ""
	if !b.spec.Load.Once {
		return nil
	}
	if p.rows > 0 && b.nextRow+p.rows > b.spec.Rows.Len() || len(p.prebuilt) > 0 && p.used == len(p.prebuilt) {
		return errNoMore
	}
	b.row = b.nextRow
	b.nextRow += p.rows
	return nil
}
