package format

import "slices"

// Column is a column of a table of T, the same in every form of a report.
type Column[T any] struct {
	Head, Unit string
	Short      string // head and unit for narrow tables
	Number     bool
	Cell       func(T) string
	Detail     func(T) string // an interval, after the cell; nil: none
	Always     bool           // the column is shown even if it is unknown in every row
	Brief      bool           // on a terminal of 100 columns, the column has no Detail
	Roomy      bool           // the column is only in tables wider than 100 columns
}

// Name is the head with its unit.
func (c Column[T]) Name() string {
	if c.Unit == "" {
		return c.Head
	}
	return c.Head + ", " + c.Unit
}

// Shown returns the columns, and of these the details, that are known in some row.
func Shown[T any](all []Column[T], rows []T) (out []Column[T]) {
	for _, c := range all {
		filled := func(cell func(T) string) bool {
			return slices.ContainsFunc(rows, func(row T) bool { s := cell(row); return s != "" && s != Dash })
		}
		if c.Detail != nil && !filled(c.Detail) {
			c.Detail = nil
		}
		if c.Always || filled(c.Cell) {
			out = append(out, c)
		}
	}
	return out
}
